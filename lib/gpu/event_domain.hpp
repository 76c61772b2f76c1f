// Domains of a driver, and the pages that are registered with them.
//
// A stream belongs to a domain (stream_driver.hpp), and host memory must be registered with it once
// before anything is stored there. Both are shared by all streams of the process:
//
//   event_domains (one per driver)
//     event_domain (one per device in use)     holds one reference to the vendor's primary domain
//       page_mapping (one per domain and page)   what the port's `map` answers
//         page_registration                        shared by the domains of a page that is portable
//
//   retain -> register -> ... stores ... -> settled -> unregister -> release
//                                       -> cannot settle: registration and reference are leaked
//
// Invariants: a page is never registered twice. The reference is held from before the first
// registering until after the last unregistering. Nothing is unregistered while a store into it may
// be pending; what is leaked stays mapped, registered and retained until the process ends. No call
// is made once the process is exiting.
// Threads: any, one at a time whatever the domain. Blocking: `map` and `unmap` while the driver
// (un)registers; `unmap` also until the domain's work is done, but only where the page's stores are
// not known to have landed; `stores_in` at a domain's first call, up to store_probe_ns_max.
// Ownership: an event_domains lives as long as the process (or its test); pages are the caller's.
// Errors: of `at_current`: NoDomain, Backend. Of `renewed`: Backend. Of `stores_in`: what `scratch`
// says; that stores do not work is an answer. Of `map`: null with the status.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/core/error.hpp"
#include "lib/gpu/store_probe.hpp"
#include "lib/gpu/stream_driver.hpp"
#include "lib/gpu/unproven_stores.hpp"

namespace gar {

class event_domains;

class event_domain : public std::enable_shared_from_this<event_domain> {
 public:
  event_domain(event_domains& all, const domain_id& id) : all_(all), id_(id) {}
  // Releases the reference.
  ~event_domain();
  event_domain(const event_domain&) = delete;
  event_domain& operator=(const event_domain&) = delete;

  event_domains& all() const { return all_; }
  const domain_id& id() const { return id_; }

  // Somebody else destroyed it: no further stream may be opened in it.
  void lose() { lost_.store(true, std::memory_order_relaxed); }
  bool lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  event_domains& all_;
  const domain_id id_;
  std::atomic<bool> lost_{false};
};

struct page_registration {
  std::shared_ptr<event_domain> domain;  // which has to unregister it
  void* host;
};

struct page_mapping {
  std::shared_ptr<event_domain> domain;
  std::shared_ptr<page_registration> registration;
  uint64_t address = 0;  // of the page, as the domain's devices see it
  unproven_count unproven = std::make_shared<std::atomic<uint32_t>>(0);
};

class event_domains {
 public:
  explicit event_domains(const stream_driver& driver) : driver_(driver) {}

  const stream_driver& driver() const { return driver_; }

  // The primary domain of the device that is current on this thread.
  result<std::shared_ptr<event_domain>> at_current();
  // The domain again, if the vendor's primary domain of the device has become another one since.
  result<std::shared_ptr<event_domain>> renewed(const std::shared_ptr<event_domain>& old);

  // Whether and how stores work there; tried at the first call, remembered.
  result<probed_store> stores_in(const std::shared_ptr<event_domain>& domain,
                                 make_scratch_page* scratch);

  // null, and `failed` says why. A domain that does not store is told of no page.
  page_mapping* map(const std::shared_ptr<event_domain>& domain, void* host, size_t bytes,
                    driver_status& failed);
  // false: it stays as it is until the process ends, and so must its memory.
  bool unmap(page_mapping* mapping);

 private:
  driver_status register_page(page_mapping& mapping, void* host, size_t bytes);
  driver_status add_mapping(page_mapping& mapping, void* host, size_t bytes);
  bool give_back(page_mapping& mapping) const;
  bool still_holds(const event_domain& domain) const;
  std::shared_ptr<event_domain> adopt(const domain_id& retained);
  error failed(const driver_status& status) const;

  const stream_driver& driver_;
  mutable std::mutex lock_;
  std::map<int32_t, std::weak_ptr<event_domain>> live_;           // by device
  std::map<void*, std::vector<page_mapping*>> mapped_;            // by page
  std::map<int32_t, std::pair<domain_id, probed_store>> probed_;  // by device
  std::vector<std::shared_ptr<void>> kept_;                       // leaked on purpose
};

}  // namespace gar
