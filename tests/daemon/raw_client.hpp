// A client made of nothing but the protocol: it says what a test tells it to, also what no client
// should.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/ring_client.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::test {

class raw_client {
 public:
  explicit raw_client(const std::string& path) {
    result<unique_fd> fd =
        connect_to(path, socket_type::seqpacket, steady_clock().now() + from_ms(2000));
    if (fd) fd_ = std::move(*fd);
  }

  int fd() const { return fd_.get(); }
  void hang_up() { fd_.reset(); }

  void send(const proto::message& m, std::span<const int> descriptors = {}) {
    send_bytes(proto::encode(m), descriptors);
  }
  void send_bytes(const std::vector<std::byte>& bytes, std::span<const int> descriptors = {}) {
    for (;;) {
      result<bool> sent = send_message(fd_.get(), bytes, descriptors);
      if (!sent || *sent) return;
      pollfd writable{fd_.get(), POLLOUT, 0};
      ::poll(&writable, 1, 1000);
    }
  }

  // The next message; nothing at the connection's end, or when none comes within two seconds.
  std::optional<proto::message> receive() {
    if (!kept_.empty()) {
      proto::message m = std::move(kept_.front());
      kept_.pop_front();
      return m;
    }
    return from_socket();
  }
  // The next one of this type; others that come before it are kept, in order.
  template <class M>
  std::optional<M> receive_as() {
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      if (M* found = std::get_if<M>(&*at)) {
        M m = std::move(*found);
        kept_.erase(at);
        return m;
      }
    }
    while (std::optional<proto::message> m = from_socket()) {
      if (M* found = std::get_if<M>(&*m)) return std::move(*found);
      kept_.push_back(std::move(*m));
    }
    return std::nullopt;
  }
  // A message, or the connection's end, is there to be read.
  bool has_news() const {
    pollfd readable{fd_.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) > 0;
  }
  // true: gard has closed, and everything before was read.
  bool ended() {
    while (from_socket()) {
    }
    return ended_;
  }

  // hello, welcome, all plans.
  bool greet(const std::string& name = "raw", uint32_t features = 0) {
    send(proto::hello{1, 1, features, name, {}});
    std::optional<proto::welcome> w = receive_as<proto::welcome>();
    if (!w) return false;
    welcome = *w;
    for (uint16_t i = 0; i < w->plan_scopes; ++i) {
      std::optional<proto::plan_scope> p = receive_as<proto::plan_scope>();
      if (!p) return false;
      plans.push_back(*p);
    }
    return true;
  }
  std::optional<proto::opened> open(uint8_t authority = proto::authority_owner, uint64_t base = 0) {
    send(proto::open{++cookie_, base, authority, "stream"});
    std::optional<proto::opened> o = receive_as<proto::opened>();
    if (o) store(*o, o->base);
    return o;
  }
  proto::wait wait_for(const proto::opened& s, uint64_t target) {
    proto::wait w;
    w.cookie = ++cookie_;
    w.target = target;
    w.plan_generation = plans.back().generation;
    w.stream = s.stream;
    w.stream_generation = s.stream_generation;
    return w;
  }
  void store(const proto::opened& s, uint64_t value) {
    lines_page& page = pages.at(s.page_index);
    const size_t word = s.line_index * proto::words_per_line + s.slot;
    proto::store_word(page.writable_word(word), value);
  }
  void ring(const proto::opened& s, uint64_t value) {
    bell->ring(welcome.client_id, s.stream, value);
    if (state->requester_sees_sleep()) state->wake_reactor();
  }
  // One request by ring, and gard told of it as proto/ring.hpp says.
  void ask_by_ring(uint16_t slot, const proto::opened& s, uint64_t target) {
    ring_memory->submit_wait(
        slot, {target, 0, 0, plans.back().generation, s.stream, s.stream_generation, 0, 0, {}});
    announce();
  }
  void announce() {
    std::atomic_ref<uint8_t>(bell->request_flags()[welcome.request_flag])
        .store(1, std::memory_order_release);
    bell->ring(welcome.client_id, 0, ++announced_);
    if (state->requester_sees_sleep()) state->wake_reactor();
    if (state->requester_must_kick()) send(proto::kick{});
  }
  // The next end in the ring, asleep on its signal meanwhile.
  std::optional<ring_client::end> ring_end() {
    const instant until = steady_clock().now() + from_ms(static_cast<uint64_t>(patience_ms));
    while (steady_clock().now() < until) {
      const uint32_t seen = ring_memory->signal();
      ring_memory->want(proto::wants_futex);
      if (!ring_memory->has_end()) ring_memory->sleep(seen, until);
      auto end = ring_memory->take_end();
      if (!end) return std::nullopt;
      if (*end) return **end;
    }
    return std::nullopt;
  }

  // One completion entry, from whatever message brings it.
  std::optional<proto::completion_entry> completion() {
    if (entries_.empty()) {
      std::optional<proto::completions> c = receive_as<proto::completions>();
      if (!c) return std::nullopt;
      entries_.insert(entries_.end(), c->entries.begin(), c->entries.end());
    }
    proto::completion_entry e = entries_.front();
    entries_.pop_front();
    return e;
  }

  // The same where one must come.
  proto::completion_entry ended_wait() {
    const std::optional<proto::completion_entry> e = completion();
    if (!e) ADD_FAILURE() << "no completion came";
    proto::completion_entry none{};
    none.code = 0xffff;
    return e.value_or(none);
  }

  proto::welcome welcome;
  std::vector<proto::plan_scope> plans;
  std::vector<lines_page> pages;
  std::optional<doorbell> bell;
  std::optional<state_page_view> state;
  std::optional<ring_client> ring_memory;
  int patience_ms = 2000;

 private:
  std::optional<proto::message> from_socket() {
    std::vector<std::byte> frame(proto::frame_bytes_max);
    for (;;) {
      pollfd readable{fd_.get(), POLLIN, 0};
      if (::poll(&readable, 1, patience_ms) <= 0) return std::nullopt;
      result<reception> got = receive_message(fd_.get(), frame);
      if (!got || got->got == reception::what::ended) {
        ended_ = true;
        return std::nullopt;
      }
      if (got->got == reception::what::nothing) continue;
      result<proto::message> m = proto::decode(std::span(frame).first(got->bytes));
      EXPECT_TRUE(m.has_value()) << m.error().text();
      if (!m) return std::nullopt;
      EXPECT_EQ(got->descriptor_count, proto::descriptors_of(*m));
      take_pages(*m, *got);
      return std::move(*m);
    }
  }

  void take_pages(const proto::message& m, reception& got) {
    if (const auto* w = std::get_if<proto::welcome>(&m)) {
      take_lines(std::move(got.descriptors[0]), w->page_bytes);
      bell.emplace(*doorbell::receive(std::move(got.descriptors[1]), system_page_bytes()));
      state.emplace(*state_page_view::receive(std::move(got.descriptors[2]), system_page_bytes()));
      if ((w->features & proto::feature_ring) == 0) return;
      result<ring_client> ring = ring_client::receive(
          std::move(got.descriptors[3]), std::move(got.descriptors[4]), w->ring_entries);
      ASSERT_TRUE(ring.has_value()) << ring.error().text();
      ring_memory.emplace(std::move(*ring));
    } else if (const auto* p = std::get_if<proto::page>(&m)) {
      take_lines(std::move(got.descriptors[0]), p->page_bytes);
    }
  }
  void take_lines(unique_fd fd, size_t bytes) {
    result<lines_page> page = lines_page::receive(std::move(fd), bytes);
    ASSERT_TRUE(page.has_value()) << page.error().text();
    pages.push_back(std::move(*page));
  }

  unique_fd fd_;
  std::deque<proto::message> kept_;
  std::deque<proto::completion_entry> entries_;
  uint64_t cookie_ = 0;
  uint64_t announced_ = 0;
  bool ended_ = false;
};

}  // namespace gar::test
