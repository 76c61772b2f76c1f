// Wire frames with descriptors: what decodes is the same bytes again when it is encoded, and gard
// answers a frame that it cannot take with the fault that PROTOCOL.md puts first.
//
// Input: a byte, how many descriptors came (low bits) and whether the client was welcomed before
// (the top bit); the rest is the frame.
#include <algorithm>
#include <cstring>

#include "lib/core/message_layout.hpp"
#include "lib/core/utf8.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/live_core.hpp"

namespace gar::fuzz {
namespace {

void check_codec(std::span<const std::byte> frame, const result<proto::message>& m) {
  if (!m) {
    const errc code = m.error().code();
    must(code == errc::MalformedMessage || code == errc::UnknownMessage);
    must(valid_plain_text(m.error().text()));
    return;
  }
  proto::header head;
  std::memcpy(&head, frame.data(), sizeof(head));
  must(static_cast<uint16_t>(proto::type_of(*m)) == head.type);
  must(proto::descriptors_of(*m) <= 5);
  const std::vector<std::byte> again = proto::encode(*m);
  must(std::equal(again.begin(), again.end(), frame.begin(), frame.end()));
}

// What gard must say to the first frame of a client; 0: it takes it, or refuses what it asks for.
uint16_t fatal_fault(const result<proto::message>& m, size_t descriptors, bool welcomed) {
  const auto number = [](errc e) { return static_cast<uint16_t>(e); };
  if (!m) return m.error().number();
  if (descriptors != 0) return number(errc::UnexpectedDescriptors);
  if (proto::sender_of(proto::type_of(*m)) == proto::sender::server) {
    return number(errc::OutOfState);
  }
  if (std::holds_alternative<proto::bye>(*m) || std::holds_alternative<proto::ask>(*m)) return 0;
  const auto* greeting = std::get_if<proto::hello>(&*m);
  if ((greeting != nullptr) == welcomed) return number(errc::OutOfState);
  if (greeting && greeting->version_min > proto::version_max) return number(errc::VersionMismatch);
  if (std::holds_alternative<proto::kick>(*m)) return number(errc::OutOfState);  // without a ring
  return 0;
}

void check_gard(std::span<const std::byte> frame, const result<proto::message>& m,
                size_t descriptors, bool welcomed) {
  live_core core;
  const session_id id = core.connect(1000);
  if (welcomed) core.receive(id, proto::hello{1, 1, 0, "a", {}});
  core.inbox[id].clear();
  core.receive(id, frame, descriptors);
  const uint16_t fault = fatal_fault(m, descriptors, welcomed);
  if (fault != 0) {
    must(core.inbox[id].size() == 1);
    const auto* refusal = std::get_if<proto::refusal>(&core.inbox[id][0]);
    must(refusal && refusal->fatal && refusal->code == fault);
    must(core.decisions.sessions() == 0);
  } else {
    const bool left = m && std::holds_alternative<proto::bye>(*m);
    must(core.decisions.sessions() == (left ? 0u : 1u));
  }
  core.end();
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  fuzz::input from(data, bytes);
  const uint8_t how = from.byte();
  const std::span<const std::byte> frame = from.bytes(from.bytes_left());
  const result<proto::message> m = proto::decode(frame);
  fuzz::check_codec(frame, m);
  fuzz::check_gard(frame, m, how & 0x07, (how & 0x80) != 0);
  return 0;
}
