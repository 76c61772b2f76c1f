// Store probe: does a store that the driver takes really arrive?
//
// A driver can say that it stores 64-bit words and not do so; so one is enqueued on a scratch
// stream, and looked for through a second mapping of its page, for a bounded time.
//
//   batch (word and bell in one call) -> single (one call each) -> none, with the reason
//
// Threads: any. Blocking: at most store_probe_ns_max, and what the driver's calls take.
// Ownership: the page is the caller's, but where `still_used` is set a store may yet arrive: then
// it must never be unmapped. Errors: none; they are the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/error.hpp"
#include "lib/gpu/stream_driver.hpp"

namespace gar {

inline constexpr uint64_t store_probe_ns_max = 1'000'000'000;

// A page of shared memory that is mapped twice.
struct scratch_page {
  std::shared_ptr<void> memory;    // owns both mappings
  void* writable = nullptr;        // what the device is told of
  const uint64_t* seen = nullptr;  // the first word, through the second mapping
  size_t bytes = 0;
};
// Only lib/linux makes memory: whoever opens streams hands in how.
using make_scratch_page = result<scratch_page>();

enum class store_way : uint8_t { none, single, batch };

struct probed_store {
  store_way way = store_way::none;
  std::string why;                   // of none
  std::shared_ptr<void> still_used;  // keep for the life of the process, where not null
};

probed_store probe_store(const stream_driver& driver, const domain_id& domain,
                         const scratch_page& page);

}  // namespace gar
