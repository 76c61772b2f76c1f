#include "clients/garclient/device_stream.hpp"

#include <cstring>
#include <string>

namespace gar::owner {
namespace {

result<bool> answer_of(int answer, const gar_device_failure& failure) {
  if (answer < 0) return backend_error(failure);
  return answer != GAR_PENDING;
}

template <size_t Bytes>
std::string text_of(const char (&field)[Bytes]) {
  return std::string(field, strnlen(field, Bytes));
}

// A record that was refused with a number that no registry has is a failure like any other.
error refusal_error(const gar_device_failure& failure) {
  if (failure.status <= 0 || !find_error(static_cast<uint16_t>(failure.status))) {
    return backend_error(failure);
  }
  return error(static_cast<errc>(failure.status), {text_of(failure.call), text_of(failure.text)});
}

}  // namespace

error backend_error(const gar_device_failure& failure) {
  std::string call = text_of(failure.call);
  if (call.empty()) call = "a device call";
  std::string status = std::to_string(failure.status);
  if (const std::string text = text_of(failure.text); !text.empty()) status += " (" + text + ")";
  return error(errc::Backend, {std::move(call), std::move(status)}, failure.status);
}

result<void> device_stream::arm(uint64_t sequence, const gar_device_store& word,
                                const gar_device_store* bell) const {
  gar_device_failure failure{};
  const int armed = ops_->arm(stream_, sequence, &word, bell, &failure);
  if (armed == GAR_REFUSED) return refusal_error(failure);
  if (armed != 0) return backend_error(failure);
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
