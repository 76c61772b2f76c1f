// A link whose other end is the test: no gard, no service thread, everything on the test's thread.
//
// The test plays the service thread too: it is told when it would be needed, and calls send_due and
// receive itself.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "clients/garclient/link.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/steady_clock.hpp"

namespace gar::test {

struct link_rig {
  link_rig() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    gards_end = unique_fd(ends[1]);
    proto::welcome welcome;
    welcome.client_id = 77;
    link = std::make_shared<owner::link>(
        owner::link::parts{unique_fd(ends[0]),
                           welcome,
                           page,
                           *doorbell::make(),
                           *state_page_view::receive(unique_fd(::dup(state.fd())), state.bytes()),
                           {}});
    link->serve_by({[this](instant) { need_by(); }, [](owner::async_wait&) {}});
  }

  void fill_socket() const {
    const char byte = 0;
    while (::send(link->fd(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) continue;
  }
  // The messages that came; what filled the socket is none.
  std::vector<proto::message> heard() const {
    std::vector<proto::message> all;
    std::array<std::byte, proto::frame_bytes_max> frame;
    for (;;) {
      const ssize_t bytes = ::recv(gards_end.get(), frame.data(), frame.size(), MSG_DONTWAIT);
      if (bytes <= 0) return all;
      const auto m = proto::decode(std::span(frame).first(static_cast<size_t>(bytes)));
      if (m) all.push_back(*m);
    }
  }
  template <class M>
  std::vector<M> heard_of() const {
    std::vector<M> of_type;
    for (const proto::message& m : heard()) {
      if (const M* one = std::get_if<M>(&m)) of_type.push_back(*one);
    }
    return of_type;
  }
  void say(const proto::message& m) const {
    const auto frame = proto::encode(m);
    ASSERT_EQ(::send(gards_end.get(), frame.data(), frame.size(), MSG_NOSIGNAL),
              ssize_t(frame.size()));
    ASSERT_TRUE(link->receive([](const proto::plan_scope&) { return result<void>(); }));
  }
  // Opened as gard's stream of this number, in its first generation.
  void open(uint32_t stream) const {
    bool answered = false;
    link->open(0, false, "",
               [&](const owner::link::opened_answer& a) { answered = a.has_value(); });
    const auto asked = heard_of<proto::open>();
    ASSERT_EQ(asked.size(), 1u);
    say(proto::opened{asked[0].cookie, 0, stream, 1, 0, 0, 0});
    ASSERT_TRUE(answered);
  }

  unique_fd gards_end;
  state_page_owner state = *state_page_owner::make();
  std::shared_ptr<owner::word_page> page = *owner::word_page::make_own();
  std::shared_ptr<owner::link> link;
  std::function<void()> need_by = [] {};
};

}  // namespace gar::test
