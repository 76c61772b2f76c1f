#include "clients/garclient/device_stream.hpp"

#include <cstring>
#include <string>

namespace gar::owner {
namespace {

result<bool> answer_of(int answer, const gar_device_failure& failure) {
  if (answer < 0) return backend_error(failure);
  return answer != GAR_PENDING;
}

}  // namespace

error backend_error(const gar_device_failure& failure) {
  std::string call(failure.call, strnlen(failure.call, sizeof(failure.call)));
  if (call.empty()) call = "a device call";
  return error(errc::Backend, {std::move(call), std::to_string(failure.status)}, failure.status);
}

result<void> device_stream::arm(uint64_t sequence, const gar_device_store& word,
                                const gar_device_store* bell) const {
  gar_device_failure failure{};
  if (ops_->arm(stream_, sequence, &word, bell, &failure) != 0) return backend_error(failure);
  return {};
}

result<bool> device_stream::query(uint64_t sequence) const {
  gar_device_failure failure{};
  return answer_of(ops_->query(stream_, sequence, &failure), failure);
}

result<bool> device_stream::block(uint64_t sequence, duration timeout) const {
  gar_device_failure failure{};
  return answer_of(ops_->block(stream_, sequence, timeout.ns, &failure), failure);
}

result<bool> device_stream::poll(uint64_t sequence, duration timeout) const {
  gar_device_failure failure{};
  return answer_of(ops_->poll(stream_, sequence, timeout.ns, &failure), failure);
}

bool device_stream::park(const uint64_t& word, uint64_t target, duration bound) const {
  return ops_->park(stream_, &word, target, bound.ns) > 0;
}

result<bool> device_stream::idle() const {
  if (!ops_->idle) return false;
  gar_device_failure failure{};
  return answer_of(ops_->idle(stream_, &failure), failure);
}

result<void> device_stream::settle() const {
  gar_device_failure failure{};
  if (ops_->settle(stream_, &failure) != 0) return backend_error(failure);
  return {};
}

}  // namespace gar::owner
