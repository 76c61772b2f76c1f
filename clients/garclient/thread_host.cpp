#include "clients/garclient/thread_host.hpp"

namespace gar::owner {

inline_host& thread_host() {
  thread_local inline_host here;
  return here;
}

}  // namespace gar::owner
