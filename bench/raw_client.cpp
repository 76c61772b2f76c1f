#include "bench/raw_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace gar::bench {
namespace {

constexpr int answer_timeout_ms = 5'000;
// Opens that are on their way at a time: their answers must fit into the socket.
constexpr size_t opens_in_flight = 64;

}  // namespace

raw_client::raw_client(const std::string& socket, const std::string& name, uint32_t features)
    : fd_(must(connect_to(socket, socket_type::seqpacket, instant{now_ns()} + from_ms(2000)),
               "connect")) {
  // `receive` blocks in the call itself, as the floor's client does.
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_NONBLOCK);
  greet(name, features);
}

void raw_client::greet(const std::string& name, uint32_t features) {
  proto::hello hello;
  hello.features = features;
  hello.client_name = name;
  send_frame(hello);
  const proto::message m = next_message();
  const auto* welcome = std::get_if<proto::welcome>(&m);
  if (!welcome) throw cannot_measure("gard did not welcome a client");
  welcome_ = *welcome;
  for (uint16_t i = 0; i < welcome_.plan_scopes; ++i) {
    const proto::message plan = next_message();
    if (const auto* p = std::get_if<proto::plan_scope>(&plan)) plan_generation_ = p->generation;
  }
}

// What is not asked for here is an error of the run.
proto::message raw_client::next_message() {
  for (;;) {
    pollfd readable{fd_.get(), POLLIN, 0};
    if (::poll(&readable, 1, answer_timeout_ms) <= 0) throw cannot_measure("gard does not answer");
    reception got = must(receive_message(fd_.get(), frame_), "receive");
    if (got.got == reception::what::nothing) continue;
    if (got.got == reception::what::ended) throw cannot_measure("gard ended a connection");
    proto::message m = must(proto::decode(std::span(frame_).first(got.bytes)), "receive");
    if (const auto* refusal = std::get_if<proto::refusal>(&m)) {
      throw cannot_measure("gard refused: " + refusal->text);
    }
    take_pages(m, got);
    if (std::holds_alternative<proto::page>(m)) continue;
    return m;
  }
}

void raw_client::take_pages(const proto::message& m, reception& with) {
  if (const auto* w = std::get_if<proto::welcome>(&m)) {
    pages_.push_back(
        must(lines_page::receive(std::move(with.descriptors[0]), w->page_bytes), "lines page"));
    bell_.emplace(
        must(doorbell::receive(std::move(with.descriptors[1]), system_page_bytes()), "doorbell"));
    state_.emplace(must(
        state_page_view::receive(std::move(with.descriptors[2]), system_page_bytes()), "state"));
    if (w->features & proto::feature_ring) {
      ring_.emplace(must(ring_client::receive(std::move(with.descriptors[3]),
                                              std::move(with.descriptors[4]), w->ring_entries),
                         "ring"));
    }
  } else if (const auto* p = std::get_if<proto::page>(&m)) {
    pages_.push_back(
        must(lines_page::receive(std::move(with.descriptors[0]), p->page_bytes), "lines page"));
  }
}

void raw_client::send_frame(const proto::message& m) const {
  const std::vector<std::byte> bytes = proto::encode(m);
  while (!must(send_message(fd_.get(), bytes), "send")) {
    pollfd writable{fd_.get(), POLLOUT, 0};
    if (::poll(&writable, 1, answer_timeout_ms) <= 0) throw cannot_measure("gard does not read");
  }
}

void raw_client::open(size_t count) {
  const size_t wanted = streams_.size() + count;
  size_t asked = streams_.size();
  while (streams_.size() < wanted) {
    while (asked < wanted && asked - streams_.size() < opens_in_flight) {
      proto::open o;
      o.cookie = ++asked;
      o.authority = proto::authority_word;
      send_frame(o);
    }
    const proto::message m = next_message();
    const auto* opened = std::get_if<proto::opened>(&m);
    if (!opened) continue;
    lines_page& page = pages_.at(opened->page_index);
    uint64_t& word = page.writable_word(opened->line_index * proto::words_per_line + opened->slot);
    proto::store_word(word, opened->base);
    streams_.push_back({*opened, &word});
  }
}

store_order raw_client::store_of(size_t index, uint64_t target) const {
  const stream& s = streams_[index];
  store_order o;
  o.word = s.word;
  o.value = target;
  o.bell = &bell_->word_of(welcome_.client_id);
  o.bell_value = proto::bell_value(welcome_.client_id, s.opened.stream, target);
  return o;
}

void raw_client::store(size_t index, uint64_t target) const {
  const stream& s = streams_[index];
  proto::store_word(*s.word, target);
  bell_->ring(welcome_.client_id, s.opened.stream, target);
  if (state_->requester_sees_sleep()) state_->wake_reactor();
}

proto::wait raw_client::wait_for(size_t index, uint64_t target, uint64_t cookie) const {
  const stream& s = streams_[index];
  proto::wait w;
  w.cookie = cookie;
  w.target = target;
  w.plan_generation = plan_generation_;
  w.stream = s.opened.stream;
  w.stream_generation = s.opened.stream_generation;
  return w;
}

void raw_client::send(std::span<const proto::wait> waits) {
  while (!waits.empty()) {
    const auto some = waits.first(std::min(waits.size(), proto::wait_entries_max));
    send_frame(proto::waits(std::vector<proto::wait>(some.begin(), some.end())));
    waits = waits.subspan(some.size());
  }
}

void raw_client::ring_for_requests(uint64_t changing) const {
  bell_->ring(welcome_.client_id, 0, changing);
  if (state_->requester_sees_sleep()) state_->wake_reactor();
}

std::span<const uint64_t> raw_client::receive(patience how) {
  cookies_.clear();
  while (cookies_.empty()) {
    const int flags = how == patience::looks ? MSG_DONTWAIT : 0;
    const ssize_t bytes = ::recv(fd_.get(), frame_.data(), frame_.size(), flags);
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < static_cast<ssize_t>(sizeof(proto::header))) {
      throw cannot_measure("gard ended a connection");
    }
    proto::header head;
    std::memcpy(&head, frame_.data(), sizeof(head));
    if (head.type != static_cast<uint16_t>(proto::message_type::completion)) continue;
    for (size_t i = 0; i < head.count; ++i) {
      proto::completion_entry entry;
      std::memcpy(&entry, frame_.data() + sizeof(head) + i * sizeof(entry), sizeof(entry));
      if (entry.code != 0) throw cannot_measure("gard ended a wait with an error");
      cookies_.push_back(entry.cookie);
    }
  }
  return cookies_;
}

}  // namespace gar::bench
