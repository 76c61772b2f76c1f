#include "clients/garclient/handshake.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include "lib/linux/memory_file.hpp"

namespace gar::owner {

// A gard that has no place says so and closes before it reads: what it said is there to receive.
result<handshake> handshake::start(unique_fd socket, const proto::hello& hello) {
  const result<bool> sent = send_message(socket.get(), proto::encode(hello));
  if (!sent && sent.error().os_number() == EPIPE) return handshake(std::move(socket));
  if (!sent) return sent.error();
  if (!*sent) return error(errc::NotReachable, {"it does not read"});
  return handshake(std::move(socket));
}

result<bool> handshake::receive() {
  std::array<std::byte, proto::frame_bytes_max + 1> buffer;
  for (;;) {
    if (welcome_ && plans_.size() == welcome_->plan_scopes) return true;
    result<reception> r = receive_message(fd(), buffer);
    if (!r) return r.error();
    if (r->got == reception::what::nothing) return false;
    if (r->got == reception::what::ended) {
      return error(errc::NotReachable, {"it ended the connection during the handshake"});
    }
    const result<proto::message> m = proto::decode({buffer.data(), r->bytes});
    if (!m) return m.error();
    result<void> taken = take(*m, *r);
    if (!taken) return taken.error();
  }
}

result<void> handshake::take(const proto::message& m, reception& with) {
  if (const auto* refusal = std::get_if<proto::refusal>(&m)) {
    return error(static_cast<errc>(refusal->code), {refusal->text});
  }
  const proto::message_type type = proto::type_of(m);
  if (with.descriptor_count != proto::descriptors_of(m)) {
    return error(errc::UnexpectedDescriptors,
                 {std::to_string(with.descriptor_count), std::string(proto::name_of(type)),
                  std::to_string(proto::descriptors_of(m))});
  }
  if (!welcome_) {
    if (const auto* welcome = std::get_if<proto::welcome>(&m)) return take_welcome(*welcome, with);
  } else if (const auto* plan = std::get_if<proto::plan_scope>(&m)) {
    plans_.push_back(*plan);
    return {};
  }
  return error(errc::OutOfState, {std::string(proto::name_of(type)), "during the handshake"});
}

result<void> handshake::take_welcome(const proto::welcome& m, reception& with) {
  if (m.version < proto::version_min || m.version > proto::version_max) {
    return error(errc::VersionMismatch,
                 {std::to_string(m.version),
                  std::to_string(proto::version_min) + ".." + std::to_string(proto::version_max)});
  }
  if (m.plan_scopes == 0) return error(errc::MalformedMessage, {"welcome: no plans"});
  result<std::shared_ptr<word_page>> page =
      word_page::of_gard(std::move(with.descriptors[0]), m.page_bytes);
  if (!page) return page.error();
  result<doorbell> bell = doorbell::receive(std::move(with.descriptors[1]), system_page_bytes());
  if (!bell) return bell.error();
  result<state_page_view> state =
      state_page_view::receive(std::move(with.descriptors[2]), system_page_bytes());
  if (!state) return state.error();
  if (m.features & proto::feature_ring) {
    result<ring_client> ring = ring_client::receive(std::move(with.descriptors[3]),
                                                    std::move(with.descriptors[4]), m.ring_entries);
    if (!ring) return ring.error();
    ring_.emplace(std::move(*ring));
  }
  page_ = std::move(*page);
  bell_ = std::move(*bell);
  state_ = std::move(*state);
  welcome_ = m;
  return {};
}

handshake::joined handshake::finish() {
  return {
      std::make_shared<link>(link::parts{std::move(socket_), *std::move(welcome_), std::move(page_),
                                         *std::move(bell_), *std::move(state_), std::move(ring_)}),
      std::move(plans_)};
}

}  // namespace gar::owner
