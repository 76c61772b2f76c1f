#include "lib/gpu/event_domain.hpp"

#include "lib/gpu/process_exit.hpp"

namespace gar {

event_domain::~event_domain() {
  if (process_is_exiting()) return;
  const driver_place place(all_.driver(), {});
  (void)all_.driver().release(id_);
}

error event_domains::failed(const driver_status& status) const {
  return error(
      errc::Backend,
      {status.call, std::to_string(status.number) + " (" + driver_.text_of(status.number) + ")"},
      status.number);
}

// ---- Domains.

result<std::shared_ptr<event_domain>> event_domains::at_current() {
  const driver_place place(driver_, {});
  if (!place.entered()) return failed(place.entered());
  domain_id current;
  const driver_status asked = driver_.current_domain(current, true);
  if (!asked && !driver_.domain_is_gone(asked.number)) return failed(asked);
  if (!asked || !current) return error(errc::NoDomain, {"the calling thread"});

  std::lock_guard hold(lock_);
  std::shared_ptr<event_domain> known = live_[current.device].lock();
  if (known && !known->lost() && still_holds(*known)) return known;
  // To retain one that nobody has made would make it, and no stream of the program's belongs to it.
  bool has = false;
  if (driver_status told = driver_.has_primary(current.device, has); !told) return failed(told);
  if (!has) {
    return error(errc::ForeignStream, {driver_.domain_text(current),
                                       "the device's primary context, which is not in use"});
  }
  domain_id primary;
  if (driver_status retained = driver_.retain(current.device, primary); !retained) {
    return failed(retained);
  }
  return adopt(primary);
}

result<std::shared_ptr<event_domain>> event_domains::renewed(
    const std::shared_ptr<event_domain>& old) {
  const driver_place place(driver_, {});
  std::lock_guard hold(lock_);
  domain_id primary;
  if (driver_status retained = driver_.retain(old->id().device, primary); !retained) {
    return failed(retained);
  }
  if (primary == old->id()) {
    (void)driver_.release(primary);
    return old;
  }
  old->lose();
  return adopt(primary);
}

std::shared_ptr<event_domain> event_domains::adopt(const domain_id& retained) {
  auto domain = std::make_shared<event_domain>(*this, retained);
  live_[retained.device] = domain;
  return domain;
}

// A domain that was reset under us may have kept its identity, but none of its registrations.
bool event_domains::still_holds(const event_domain& domain) const {
  for (const auto& [host, mappings] : mapped_) {
    for (const page_mapping* mapping : mappings) {
      if (mapping->domain.get() != &domain || !mapping->registration) continue;
      const driver_place place(driver_, domain.id());
      uint64_t address = 0;
      return place.entered() && driver_.device_address(host, address) &&
             address == mapping->address;
    }
  }
  return true;
}

result<probed_store> event_domains::stores_in(const std::shared_ptr<event_domain>& domain,
                                              make_scratch_page* scratch) {
  std::lock_guard hold(lock_);
  auto known = probed_.find(domain->id().device);
  if (known != probed_.end() && known->second.first == domain->id()) return known->second.second;
  result<scratch_page> page = scratch();
  if (!page) return page.error();
  const probed_store tried = probe_store(driver_, domain->id(), *page);
  if (tried.still_used) {
    kept_.push_back(tried.still_used);
    kept_.push_back(domain);
  }
  probed_.insert_or_assign(domain->id().device, std::pair{domain->id(), tried});
  return tried;
}

// ---- Pages.

page_mapping* event_domains::map(const std::shared_ptr<event_domain>& domain, void* host,
                                 size_t bytes, driver_status& failed) {
  auto mapping = std::make_unique<page_mapping>();
  mapping->domain = domain;
  std::lock_guard hold(lock_);
  auto known = probed_.find(domain->id().device);
  if (known != probed_.end() && known->second.second.way == store_way::none) {
    return mapping.release();
  }
  failed = add_mapping(*mapping, host, bytes);
  if (!failed) return nullptr;
  mapped_[host].push_back(mapping.get());
  return mapping.release();
}

driver_status event_domains::add_mapping(page_mapping& mapping, void* host, size_t bytes) {
  const driver_place place(driver_, mapping.domain->id());
  if (!place.entered()) return place.entered();
  if (driver_status told = register_page(mapping, host, bytes); !told) return told;
  const driver_status found = driver_.device_address(host, mapping.address);
  if (!found && mapping.registration.use_count() == 1) (void)driver_.unregister_page(host);
  return found;
}

driver_status event_domains::register_page(page_mapping& mapping, void* host, size_t bytes) {
  std::shared_ptr<page_registration> others;
  for (const page_mapping* known : mapped_[host]) {
    if (!known->registration || known->registration->domain->lost()) continue;
    others = known->registration;
    if (others->domain != mapping.domain) continue;
    mapping.registration = others;
    return {};
  }
  const driver_status told = driver_.register_page(host, bytes);
  if (told) {
    mapping.registration =
        std::make_shared<page_registration>(page_registration{mapping.domain, host});
    return told;
  }
  // Portable memory is registered for every domain at once: that answer is ours if we hold it.
  if (!driver_.already_registered(told.number) || !others) return told;
  mapping.registration = std::move(others);
  return {};
}

bool event_domains::unmap(page_mapping* mapping) {
  std::unique_ptr<page_mapping> owned(mapping);
  std::lock_guard hold(lock_);
  if (!owned->registration) return true;
  if (!give_back(*owned)) {
    kept_.push_back(std::shared_ptr<page_mapping>(std::move(owned)));
    return false;
  }
  auto known = mapped_.find(owned->registration->host);
  std::erase(known->second, owned.get());
  if (known->second.empty()) mapped_.erase(known);
  owned.reset();  // the reference is released behind all this, still under the lock
  return true;
}

bool event_domains::give_back(page_mapping& mapping) const {
  if (process_is_exiting() || mapping.domain->lost()) return false;
  const driver_place place(driver_, mapping.domain->id());
  if (!place.entered()) return false;
  // A synchronize would wait for work that is nobody's business here and spoil a graph capture that
  // is under way in the domain, so it is made only where the streams could not tell for themselves.
  if (mapping.unproven->load() > 0 && !driver_.synchronize_domain()) return false;
  if (mapping.registration.use_count() > 1) return true;
  const driver_place registered_in(driver_, mapping.registration->domain->id());
  return registered_in.entered() && driver_.unregister_page(mapping.registration->host);
}

}  // namespace gar
