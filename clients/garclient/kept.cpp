#include "clients/garclient/kept.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace gar::owner {
namespace {

struct kept {
  std::mutex lock;
  std::array<std::shared_ptr<const void>, 64> first;
  size_t firsts = 0;
  std::vector<std::shared_ptr<const void>> others;
};

}  // namespace

void keep_for_ever(std::shared_ptr<const void> what) noexcept {
  // Outlives every destructor of the process.
  alignas(kept) static std::byte room[sizeof(kept)];
  static kept* const here = new (room) kept;
  std::lock_guard hold(here->lock);
  if (here->firsts < here->first.size()) {
    here->first[here->firsts++] = std::move(what);
  } else {
    here->others.push_back(std::move(what));
  }
}

}  // namespace gar::owner
