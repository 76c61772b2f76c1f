// The control socket: requests read and refused, the answers' shapes, and the server's bounds.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <thread>
#include <vector>

#include "daemon/answer_json.hpp"
#include "daemon/control_server.hpp"
#include "daemon/request.hpp"
#include "daemon/snapshot_json.hpp"
#include "lib/linux/steady_clock.hpp"
#include "lib/linux/unix_socket.hpp"
#include "proto/limits.hpp"

namespace gar {
namespace {

control_request read(std::string_view text) {
  const result<control_request> request = parse_request(text);
  EXPECT_TRUE(request) << text << ": " << (request ? "" : request.error().text());
  return request ? *request : control_request{};
}

void refuses(std::string_view text, errc code, std::string_view saying) {
  const result<control_request> request = parse_request(text);
  ASSERT_TRUE(request.has_error()) << text;
  EXPECT_EQ(request.error().code(), code) << text;
  EXPECT_NE(request.error().text().find(saying), std::string::npos) << request.error().text();
}

TEST(request, reads_each_op) {
  EXPECT_EQ(read(R"({"op":"status"})").op, request_op::status);
  EXPECT_EQ(read(R"({"op":"caps"})").op, request_op::caps);
  EXPECT_EQ(read(R"({"op":"clients"})").op, request_op::clients);
  EXPECT_EQ(read(R"({"op":"streams"})").op, request_op::streams);
  EXPECT_EQ(read(R"({"op":"points"})").op, request_op::points);
  EXPECT_EQ(read(R"({"op":"version"})").op, request_op::version);
  EXPECT_EQ(read(R"({"op":"plan_show"})").op, request_op::plan_show);
  EXPECT_EQ(read(R"({"op":"metrics"})").dialect, metrics_dialect::open_metrics);
  EXPECT_EQ(read(R"({"op":"metrics","dialect":"prometheus"})").dialect,
            metrics_dialect::prometheus);
  EXPECT_FALSE(read(R"({"op":"events"})").after);
  EXPECT_EQ(read(R"({"op":"events","after":18446744073709551615})").after, UINT64_MAX);
  EXPECT_EQ(read(R"({"op":"trace","for_ms":600000})").trace_for, from_ms(600'000));
  EXPECT_EQ(read(R"({"op":"trace_read","trace":7})").trace, 7u);
  EXPECT_EQ(read(R"({"op":"figures"})").op, request_op::figures);
  EXPECT_EQ(read(R"({"op":"plan_unset"})").scope, plan_scope{});
  EXPECT_FALSE(read(R"({"op":"reload"})").replace);
  EXPECT_TRUE(read(R"({"op":"reload","replace":true})").replace);
  const control_request set = read(R"( {"op":"plan_set","text":"poll","client":"a","point":"é"} )");
  EXPECT_EQ(set.text, "poll");
  EXPECT_EQ(set.scope, (plan_scope{"a", "é"}));
}

TEST(request, knows_which_ops_change_the_node) {
  for (request_op op : {request_op::plan_set, request_op::plan_unset, request_op::reload,
                        request_op::trace, request_op::trace_read}) {
    EXPECT_TRUE(changes(op)) << name_of(op);
  }
  for (request_op op :
       {request_op::status, request_op::caps, request_op::clients, request_op::streams,
        request_op::points, request_op::version, request_op::plan_show}) {
    EXPECT_FALSE(changes(op)) << name_of(op);
  }
}

TEST(request, knows_which_ops_tell_of_the_whole_node) {
  EXPECT_TRUE(whole_node(request_op::metrics));
  EXPECT_TRUE(whole_node(request_op::figures));
  for (request_op op :
       {request_op::status, request_op::clients, request_op::events, request_op::plan_show}) {
    EXPECT_FALSE(whole_node(op)) << name_of(op);
  }
}

TEST(request, refuses_what_is_no_json_object) {
  for (std::string_view bad : {"", "status", "{", R"({"op":"status"} x)", "[]", "3", "null",
                               "\"status\"", "{\"op\":\"\xff\"}", "{'op':'status'}"}) {
    refuses(bad, errc::InvalidArgument, "request");
  }
  refuses(std::string(10'000, '['), errc::InvalidArgument, "request");
}

TEST(request, refuses_an_unknown_op_and_names_the_known_ones) {
  refuses(R"({"op":"stop"})", errc::UnknownRequest, "plan_show");
  refuses(R"({"op":"st\u0007op"})", errc::UnknownRequest, "\\x07");
  refuses(R"({})", errc::InvalidArgument, "op");
  refuses(R"({"op":1})", errc::InvalidArgument, "op");
}

TEST(request, refuses_keys_that_the_op_does_not_have) {
  refuses(R"({"op":"status","client":"a"})", errc::InvalidArgument, "client");
  refuses(R"({"op":"plan_unset","text":"poll"})", errc::InvalidArgument, "text");
  refuses(R"({"op":"reload","":true})", errc::InvalidArgument, "no key of reload");
}

TEST(request, refuses_values_of_the_wrong_type_or_range) {
  refuses(R"({"op":"plan_set"})", errc::InvalidArgument, "text");
  refuses(R"({"op":"plan_set","text":null})", errc::InvalidArgument, "text");
  refuses(R"({"op":"plan_set","text":"poll","client":3})", errc::InvalidArgument, "client");
  refuses(R"({"op":"plan_set","text":"poll","client":""})", errc::InvalidArgument, "client");
  refuses(R"({"op":"plan_set","text":"poll","point":null})", errc::InvalidArgument, "point");
  refuses(R"({"op":"plan_set","text":"poll","point":"a\nb"})", errc::InvalidArgument, "point");
  refuses(R"({"op":"plan_unset","client":")" + std::string(64, 'a') + "\"}", errc::InvalidArgument,
          "63");
  for (const char* after : {"-1", "1.5", "null", "\"3\"", "18446744073709551616"}) {
    refuses(R"({"op":"events","after":)" + std::string(after) + "}", errc::InvalidArgument,
            "after");
  }
  refuses(R"({"op":"trace"})", errc::InvalidArgument, "for_ms");
  refuses(R"({"op":"trace","for_ms":0})", errc::InvalidArgument, "600000");
  refuses(R"({"op":"trace","for_ms":600001})", errc::InvalidArgument, "600000");
  refuses(R"({"op":"trace_read"})", errc::InvalidArgument, "trace");
  refuses(R"({"op":"metrics","dialect":"json"})", errc::InvalidArgument, "open_metrics");
  refuses(R"({"op":"metrics","dialect":1})", errc::InvalidArgument, "dialect");
  refuses(R"({"op":"status","dialect":"prometheus"})", errc::InvalidArgument, "dialect");
  refuses(R"({"op":"reload","replace":1})", errc::InvalidArgument, "true or false");
}

TEST(answer, of_a_refusal_has_number_name_text_and_remedy) {
  EXPECT_EQ(
      refusal_json(error(errc::NotSet, {"client a"})),
      R"({"ok":false,"error":{"code":43,"name":"NotSet","text":"no plan is set for client a",)"
      R"("remedy":"`garctl plan show` lists what is set."}})");
}

TEST(answer, of_a_refused_plan_has_the_position_and_the_fault) {
  plan_fault fault;
  ASSERT_FALSE(bands::parse("pool", fault));
  const auto shown =
      boost::json::parse(refusal_json(bands::parse("pool").error(), fault)).at("error");
  EXPECT_EQ(shown.at("code"), 1);
  EXPECT_EQ(shown.at("position"), 0);
  EXPECT_EQ(shown.at("fault"), "unknown plan 'pool'");
}

TEST(answer, of_status_has_every_key_in_its_place) {
  status_snapshot s;
  s.executor.warning = error(errc::ExecutorFallback, {"io-uring", "why", "naive"});
  const auto shown = boost::json::value(status_json(s));
  for (const char* path : {"/version",
                           "/pid",
                           "/uptime_ms",
                           "/executor/requested",
                           "/executor/running",
                           "/executor/strictness",
                           "/executor/warning/code",
                           "/word_wait/kind",
                           "/word_wait/hardware",
                           "/word_wait/why",
                           "/margin_floor_us",
                           "/latency/cpu_dma_latency/requested",
                           "/latency/cpu_dma_latency/held",
                           "/latency/cpu_dma_latency/changes",
                           "/latency/cpu_dma_latency/refused",
                           "/latency/thread/cpu",
                           "/latency/thread/scheduling",
                           "/latency/thread/timer_slack_ns",
                           "/latency/thread/warnings",
                           "/capabilities",
                           "/plan/generation",
                           "/plan/requested",
                           "/plan/running",
                           "/plan/warnings",
                           "/clients",
                           "/streams",
                           "/waits/pending",
                           "/waits/completed",
                           "/waits/failed",
                           "/waits/cancelled",
                           "/waits/timed_out",
                           "/waits/owner_gone",
                           "/waits/early_word",
                           "/waits/lost_store",
                           "/waits/waited_ns",
                           "/waits/oldest_pending_ms",
                           "/kinds/blocked",
                           "/kinds/immediate",
                           "/kinds/late",
                           "/kinds/parked",
                           "/reactor/polls",
                           "/reactor/woken",
                           "/reactor/slept",
                           "/reactor/parked",
                           "/reactor/idle_ns",
                           "/reactor/backstop_probes",
                           "/process/cpu_ms",
                           "/process/rss_kib"}) {
    boost::system::error_code missing;
    EXPECT_TRUE(shown.find_pointer(path, missing)) << path;
  }
}

TEST(answer, says_null_for_what_is_not_set) {
  const auto point = boost::json::value(point_json(point_snapshot{}));
  EXPECT_TRUE(point.at("point").is_null());
  EXPECT_TRUE(point.at("stream").is_null());
  EXPECT_TRUE(point.at("predicted_ns").is_null());
  const auto plan = boost::json::value(plan_json({plan_scope{"a", std::nullopt},
                                                  plan_source::runtime,
                                                  bands(gar::plan{}),
                                                  bands(gar::plan{}),
                                                  {}}));
  EXPECT_EQ(plan.at("scope"), "client");
  EXPECT_EQ(plan.at("client"), "a");
  EXPECT_TRUE(plan.at("point").is_null());
  EXPECT_EQ(plan.at("source"), "runtime");
}

TEST(answer, of_a_list_too_long_for_it_ends_early_and_counts_what_it_left_out) {
  const std::vector<std::string> entries(10, std::string(100, 'x'));
  const auto shown = [&](size_t bytes_max) {
    list_text list("them", R"("generation":7,)", bytes_max);
    list.add(entries, [](const std::string& e) { return boost::json::value(e); });
    const std::string text = list.end();
    EXPECT_LE(text.size(), bytes_max);
    return boost::json::parse(text).at("result");
  };
  const auto whole = shown(4096);
  EXPECT_EQ(whole.at("them").as_array().size(), 10u);
  EXPECT_EQ(whole.at("omitted"), 0);
  EXPECT_EQ(whole.at("generation"), 7);
  const auto cut = shown(500);
  EXPECT_EQ(cut.at("them").as_array().size(), 3u);
  EXPECT_EQ(cut.at("omitted"), 7);
}

// A server on a socket of its own, driven from the test's thread; it answers "<request>".
class served : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(::mkdtemp(directory_.data()));
    path_ = directory_ + "/control.sock";
    serve({.connections_max = 3});
  }
  void TearDown() override {
    server_.reset();
    for (const std::string& file : {path_, path_ + ".lock"}) ::unlink(file.c_str());
    ::rmdir(directory_.c_str());
  }

  void serve(control_bounds bounds) {
    server_.reset();
    auto listener = listen_at(path_, {.type = socket_type::stream});
    ASSERT_TRUE(listener) << listener.error().text();
    server_.emplace(
        io_, std::move(*listener),
        [this](const std::string& request, const control_server::done_function& done) {
          ++answered_;
          if (hold_) return held_.push_back(done);
          done("<" + request + ">" + std::string(padding_bytes_, '.'));
        },
        bounds);
  }

  unique_fd connect() {
    steady_clock clock;
    auto peer = connect_to(path_, socket_type::stream, clock.now() + from_ms(5000));
    EXPECT_TRUE(peer);
    turn();
    return std::move(*peer);
  }
  void turn() {
    io_.restart();
    io_.poll();
  }
  void send(const unique_fd& to, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      turn();
      if (sent < 0 && errno != EAGAIN) return;
    }
    turn();
  }
  // All that can be had now; "|" where the server has closed.
  std::string receive(const unique_fd& from) {
    std::string all;
    char part[65536];
    for (;;) {
      turn();
      const ssize_t got = ::recv(from.get(), part, sizeof(part), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return all + "|";
      if (got < 0) return all;
      all.append(part, static_cast<size_t>(got));
    }
  }

  boost::asio::io_context io_;
  std::optional<control_server> server_;
  std::string directory_ = testing::TempDir() + "gar-control-XXXXXX";
  std::string path_;
  size_t padding_bytes_ = 0;
  int answered_ = 0;
  bool hold_ = false;
  std::vector<control_server::done_function> held_;
};

TEST_F(served, a_line_is_answered_with_a_line) {
  const unique_fd peer = connect();
  send(peer, "one\n");
  EXPECT_EQ(receive(peer), "<one>\n");
}

TEST_F(served, a_connection_asks_several_times_and_several_at_once) {
  const unique_fd peer = connect();
  send(peer, "one\n");
  EXPECT_EQ(receive(peer), "<one>\n");
  send(peer, "two\nthree\n\n");
  EXPECT_EQ(receive(peer), "<two>\n<three>\n<>\n");
}

TEST_F(served, a_line_that_comes_in_pieces_is_answered_once_whole) {
  const unique_fd peer = connect();
  send(peer, "o");
  send(peer, "n");
  EXPECT_EQ(receive(peer), "");
  send(peer, "e\ntw");
  EXPECT_EQ(receive(peer), "<one>\n");
  send(peer, "o\n");
  EXPECT_EQ(receive(peer), "<two>\n");
}

TEST_F(served, the_last_line_needs_no_newline) {
  const unique_fd peer = connect();
  send(peer, "one\ntwo");
  ::shutdown(peer.get(), SHUT_WR);
  EXPECT_EQ(receive(peer), "<one>\n<two>\n|");
}

TEST_F(served, the_longest_line_is_answered_and_a_longer_one_is_refused_and_closed) {
  const unique_fd longest = connect();
  send(longest, std::string(proto::control_line_bytes_max - 1, 'x') + "\n");
  EXPECT_EQ(receive(longest).size(), proto::control_line_bytes_max + 2);
  const unique_fd longer = connect();
  send(longer, std::string(proto::control_line_bytes_max, 'x') + "\n");
  const std::string said = receive(longer);
  EXPECT_NE(said.find("MalformedMessage"), std::string::npos) << said;
  EXPECT_EQ(said.back(), '|');
  EXPECT_EQ(answered_, 1);
}

TEST_F(served, a_peer_that_reads_nothing_is_asked_for_no_more_and_holds_up_nobody) {
  padding_bytes_ = 8 << 20;
  const unique_fd deaf = connect();
  send(deaf, "one\ntwo\n");
  EXPECT_EQ(answered_, 1);
  padding_bytes_ = 0;
  const unique_fd other = connect();
  send(other, "three\n");
  EXPECT_EQ(receive(other), "<three>\n");
}

TEST_F(served, a_peer_that_leaves_in_the_middle_is_forgotten) {
  for (int i = 0; i < 10; ++i) {
    unique_fd peer = connect();
    send(peer, "half a li");
    peer.reset();
    turn();
  }
  const unique_fd peer = connect();
  send(peer, "one\n");
  EXPECT_EQ(receive(peer), "<one>\n");
}

TEST_F(served, one_connection_too_many_is_told_so_and_closed) {
  const unique_fd a = connect(), b = connect(), c = connect();
  unique_fd d = connect();
  const std::string said = receive(d);
  EXPECT_NE(said.find("LimitControl"), std::string::npos) << said;
  EXPECT_NE(said.find("3 control connections are open"), std::string::npos) << said;
  // No setting raises it.
  EXPECT_EQ(said.find("limits."), std::string::npos) << said;
  EXPECT_EQ(said.back(), '|');
  send(a, "one\n");
  EXPECT_EQ(receive(a), "<one>\n");
}

TEST_F(served, a_silent_peer_is_closed_after_the_idle_bound) {
  serve({.idle_ns_max = 1});
  const unique_fd peer = connect();
  io_.restart();
  io_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(receive(peer), "|");
}

// The deadline was over before the request was read, and both came up in one turn.
TEST_F(served, a_request_at_the_idle_bound_is_answered_all_the_same) {
  serve({.idle_ns_max = 500'000'000});
  hold_ = true;
  const unique_fd peer = connect();
  ASSERT_EQ(::send(peer.get(), "one\n", 4, MSG_NOSIGNAL), 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  turn();
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_EQ(receive(peer), "");
  held_.front()("late");
  EXPECT_EQ(receive(peer), "late\n");
}

TEST_F(served, a_peer_that_does_not_take_its_answer_in_time_is_closed) {
  serve({.write_ns_max = 1});
  padding_bytes_ = 8 << 20;
  const unique_fd peer = connect();
  send(peer, "one\n");
  io_.restart();
  io_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(receive(peer).back(), '|');
}

TEST_F(served, stopping_closes_everybody) {
  const unique_fd peer = connect();
  server_->stop();
  EXPECT_EQ(receive(peer), "|");
  steady_clock clock;
  EXPECT_TRUE(connect_to(path_, socket_type::stream, clock.now()).has_error());
}

}  // namespace
}  // namespace gar
