#include "clients/garclient/kept.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace gar::owner {

void keep_for_ever(std::shared_ptr<const void> what) {
  struct kept {
    std::mutex lock;
    std::vector<std::shared_ptr<const void>> all;
  };
  static kept* const here = new kept;  // outlives every destructor of the process
  std::lock_guard hold(here->lock);
  here->all.push_back(std::move(what));
}

}  // namespace gar::owner
