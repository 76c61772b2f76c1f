#include "lib/gpu/event_ops.hpp"

#include "lib/gpu/device_failure.hpp"
#include "lib/gpu/event_domain.hpp"
#include "lib/gpu/event_stream.hpp"

namespace gar {
namespace {

event_stream* of(void* stream) {
  return static_cast<event_stream*>(stream);
}

int map(void* device, void* host, size_t bytes, void** mapping, gar_device_failure* failure) {
  auto* domain = static_cast<event_domain*>(device);
  event_domains& all = domain->all();
  driver_status why;
  *mapping = all.map(domain->shared_from_this(), host, bytes, why);
  if (*mapping) return 0;
  return device_failed(failure, why.number, why.call,
                       text_of_unregistered(all.driver(), why.number));
}

int unmap(void*, void* mapping) {
  auto* page = static_cast<page_mapping*>(mapping);
  return page->domain->all().unmap(page) ? 0 : GAR_FAILED;
}

}  // namespace

gar_device_ops event_ops(const char* name) {
  return {
      .struct_bytes = sizeof(gar_device_ops),
      .name = name,
      .map = map,
      .unmap = unmap,
      .arm = [](void* stream, uint64_t sequence, const gar_device_store* word,
                const gar_device_store* bell, gar_device_failure* failure) -> int {
        return of(stream)->arm(sequence, *word, bell, failure);
      },
      .query = [](void* stream, uint64_t sequence, gar_device_failure* failure) -> int {
        return of(stream)->query(sequence, failure);
      },
      .block = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return of(stream)->block(sequence, timeout_ns, failure); },
      .poll = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure)
          -> int { return of(stream)->poll(sequence, timeout_ns, failure); },
      .park = nullptr,  // its words are plain host memory: the library parks on them best
      .idle = [](void* stream, gar_device_failure* failure) -> int {
        return of(stream)->idle(failure);
      },
      .settle = [](void* stream, gar_device_failure* failure) -> int {
        return of(stream)->settle(failure);
      },
  };
}

}  // namespace gar
