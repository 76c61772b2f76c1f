// The metrics port: what it answers, and what a badly behaved peer costs.
#include "daemon/metrics_server.hpp"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gar {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

TEST(loopback, takes_addresses_of_this_machine_alone) {
  EXPECT_EQ(parse_loopback("127.0.0.1:9746")->port, 9746);
  EXPECT_EQ(parse_loopback("127.9.9.9:1")->address, "127.9.9.9");
  EXPECT_EQ(parse_loopback("[::1]:65535")->address, "::1");
  for (const char* bad :
       {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:09",
        "127.0.0.1:+9", "127.0.0.1:9 ", "0.0.0.0:9746", "[::]:9746", "::1:9746", "10.0.0.1:9746",
        "localhost:9746", "[127.0.0.1]:9746", "192.168.0.1:80", "[fe80::1]:80", "9746"}) {
    EXPECT_FALSE(parse_loopback(bad)) << bad;
  }
}

// A peer whose whole conversation runs on the test's io context.
struct peer {
  explicit peer(asio::io_context& io) : socket(io) {}

  void read() {
    asio::async_read(socket, asio::dynamic_buffer(heard),
                     [this](boost::system::error_code, size_t) { ended = true; });
  }

  tcp::socket socket;
  std::string heard;
  bool ended = false;
};

class metrics_port : public testing::Test {
 protected:
  void serve(metrics_bounds bounds = {}) {
    for (uint16_t port = 20'000; port < 60'000 && !server_; port += 37) {
      auto made = metrics_server::make(
          io_, {"127.0.0.1", port},
          [this](metrics_dialect as, metrics_server::done_function done) {
            asked_.push_back(as);
            if (hold_) {
              held_.push_back(std::move(done));
            } else {
              done(text_);
            }
          },
          bounds);
      if (!made) continue;
      server_ = std::move(*made);
      port_ = port;
    }
    ASSERT_TRUE(server_);
  }

  std::unique_ptr<peer> connect(const std::string& request = {}) {
    auto made = std::make_unique<peer>(io_);
    made->socket.connect({asio::ip::make_address("127.0.0.1"), port_});
    asio::write(made->socket, asio::buffer(request));
    made->read();
    return made;
  }

  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done() && std::chrono::steady_clock::now() < end) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(done());
  }

  std::string exchange(const std::string& request) {
    const auto one = connect(request);
    run_until([&] { return one->ended; });
    return one->heard;
  }

  asio::io_context io_;
  std::string text_ = "gard_clients 1\n";
  std::vector<metrics_dialect> asked_;
  bool hold_ = false;
  std::vector<metrics_server::done_function> held_;
  uint16_t port_ = 0;
  std::unique_ptr<metrics_server> server_;
};

TEST_F(metrics_port, answers_one_request_a_connection) {
  serve();
  const std::string heard = exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 OK\r\n")) << heard;
  EXPECT_NE(heard.find("text/plain; version=0.0.4"), std::string::npos);
  EXPECT_NE(heard.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(heard.ends_with("\r\n\r\ngard_clients 1\n")) << heard;
}

TEST_F(metrics_port, speaks_the_dialect_that_is_accepted) {
  serve();
  const std::string heard = exchange(
      "GET /metrics HTTP/1.1\r\nHost: a\r\n"
      "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n");
  EXPECT_NE(heard.find("application/openmetrics-text; version=1.0.0"), std::string::npos) << heard;
  EXPECT_EQ(asked_, std::vector{metrics_dialect::open_metrics});
}

TEST_F(metrics_port, reads_every_line_and_weight_of_what_is_accepted) {
  serve();
  const auto asked_with = [this](const std::string& accept) {
    exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n" + accept + "\r\n");
    return asked_.empty() ? std::nullopt : std::optional(asked_.back());
  };
  for (const char* accept : {"Accept: text/plain\r\nAccept: application/openmetrics-text\r\n",
                             "Accept: Application/OpenMetrics-Text ; q=0.001\r\n",
                             "Accept: text/plain;q=0,application/openmetrics-text\r\n"}) {
    EXPECT_EQ(asked_with(accept), metrics_dialect::open_metrics) << accept;
  }
  for (const char* accept :
       {"", "Accept: application/openmetrics-text;q=0\r\n",
        "Accept: application/openmetrics-text; version=1.0.0; q=0.000, text/plain\r\n",
        "Accept: application/openmetrics-textual\r\n"}) {
    EXPECT_EQ(asked_with(accept), metrics_dialect::prometheus) << accept;
  }
}

TEST_F(metrics_port, answers_whatever_the_target_says_beside_its_path) {
  serve();
  for (const char* target : {"/metrics?x=1", "/metrics?", "http://127.0.0.1:9746/metrics",
                             "HTTP://localhost/metrics?format=a"}) {
    const std::string heard =
        exchange("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 OK\r\n")) << target << heard;
  }
  for (const char* target : {"/metricsx", "/metrics/", "/?/metrics", "http://localhost", "*",
                             "ftp://localhost/metrics", "http://localhost?/metrics"}) {
    const std::string heard =
        exchange("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 404")) << target << heard;
  }
}

TEST_F(metrics_port, answers_a_head_without_the_text) {
  serve();
  const std::string heard = exchange("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(heard.find("Content-Length: 15"), std::string::npos) << heard;
  EXPECT_TRUE(heard.ends_with("\r\n\r\n"));
}

TEST_F(metrics_port, refuses_what_is_no_question_for_metrics) {
  serve();
  const auto refused = [this](const std::string& request, const char* status) {
    const std::string heard = exchange(request);
    EXPECT_TRUE(heard.starts_with(std::string("HTTP/1.1 ") + status)) << request << heard;
  };
  refused("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "404");
  refused("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "405");
  refused("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "400");
  refused("not http at all\r\n\r\n", "400");
  refused("GET /metrics HTTP/1.1\r\nA: " + std::string(9000, 'a') + "\r\n\r\n", "431");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(metrics_port, a_peer_that_says_nothing_is_cut_off) {
  serve({.read_ns_max = 50'000'000});
  const auto silent = connect();
  const auto slow = connect("GET /metr");
  run_until([&] { return silent->ended && slow->ended; });
  EXPECT_EQ(silent->heard, "");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(metrics_port, who_has_asked_nothing_for_the_longest_makes_room) {
  serve({.connections_max = 2});
  const auto first = connect();
  const auto second = connect();
  const auto third = connect("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until([&] { return third->ended; });
  EXPECT_NE(third->heard.find("200 OK"), std::string::npos);
  EXPECT_TRUE(first->ended);
  EXPECT_FALSE(second->ended);
}

TEST_F(metrics_port, whoever_is_being_answered_is_not_pushed_out) {
  hold_ = true;
  serve({.connections_max = 2});
  const auto one = connect("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto two = connect("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until([&] { return held_.size() == 2; });
  const auto third = connect("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until([&] { return third->ended; });
  EXPECT_EQ(third->heard, "");
  for (auto& done : held_) done("late\n");
  run_until([&] { return one->ended && two->ended; });
  EXPECT_TRUE(one->heard.ends_with("late\n"));
  EXPECT_TRUE(two->heard.ends_with("late\n"));
}

TEST_F(metrics_port, a_peer_that_goes_while_it_is_answered_hurts_nobody) {
  hold_ = true;
  serve();
  auto one = connect("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  run_until([&] { return held_.size() == 1; });
  one->socket.close();
  held_.front()(std::string(1 << 20, 'x'));
  hold_ = false;
  EXPECT_NE(exchange("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").find("200 OK"), std::string::npos);
}

TEST_F(metrics_port, a_port_that_is_taken_is_a_coded_error) {
  serve();
  const auto again = metrics_server::make(io_, {"127.0.0.1", port_}, {});
  ASSERT_TRUE(again.has_error());
  EXPECT_EQ(again.error().code(), errc::SystemCall);
  EXPECT_NE(again.error().text().find("127.0.0.1:" + std::to_string(port_)), std::string::npos);
}

}  // namespace
}  // namespace gar
