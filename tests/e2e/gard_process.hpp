// A gard of a test's own, as a process: started on sockets in a directory of its own, asked over
// its clients' socket, killed, stopped and started again. Always ended.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lib/core/codec.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::test {

class gard_process {
 public:
  explicit gard_process(std::string directory) : directory_(std::move(directory)) {}
  ~gard_process() { kill(SIGKILL); }

  std::string socket() const { return directory_ + "/gard.sock"; }
  std::string control() const { return directory_ + "/control.sock"; }

  void start(const std::string& config = "") {
    std::ofstream(directory_ + "/gard.toml") << config;
    const std::string log = directory_ + "/log";
    const std::vector<std::string> words = {GARD_BINARY, "--config",    directory_ + "/gard.toml",
                                            "--socket",  socket(),      "--control",
                                            control(),   "--log-level", "warning"};
    std::vector<char*> arguments;
    for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
    arguments.push_back(nullptr);
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(file, 1);
      ::dup2(file, 2);
      ::execv(GARD_BINARY, arguments.data());
      ::_exit(127);
    }
    for (int i = 0; i < 5000; ++i) {
      const auto look = look_at_socket(socket());
      if (look && *look == socket_file::live) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    FAIL() << "gard does not answer: " << log_text();
  }
  void signal(int number) const { ::kill(pid_, number); }
  // Ends it and waits for that.
  void kill(int number) {
    if (pid_ <= 0) return;
    ::kill(pid_, number);
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  // One request over the clients' socket, or over the control socket where it changes something.
  boost::json::object ask(const std::string& json) const {
    auto connected = connect_to(socket(), socket_type::seqpacket, instant::never());
    if (!connected) return {};
    (void)send_message(connected->get(), proto::encode(proto::ask{1, json}));
    std::string text;
    std::array<std::byte, proto::frame_bytes_max> buffer;
    for (;;) {
      pollfd one{connected->get(), POLLIN, 0};
      if (::poll(&one, 1, 5000) <= 0) return {};
      auto got = receive_message(connected->get(), buffer);
      if (!got || got->got != reception::what::message) return {};
      auto m = proto::decode({buffer.data(), got->bytes});
      const auto* part = m ? std::get_if<proto::answer>(&*m) : nullptr;
      if (!part) return {};
      text += part->part;
      if (text.size() == part->total_bytes) return boost::json::parse(text).as_object();
    }
  }
  boost::json::object control_request(const std::string& json) const {
    auto connected = connect_to(control(), socket_type::stream, instant::never());
    if (!connected) return {};
    const std::string line = json + "\n";
    if (::send(connected->get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return {};
    std::string text;
    while (text.find('\n') == std::string::npos) {
      pollfd one{connected->get(), POLLIN, 0};
      char buffer[4096];
      if (::poll(&one, 1, 5000) <= 0) return {};
      const ssize_t bytes = ::read(connected->get(), buffer, sizeof(buffer));
      if (bytes <= 0) return {};
      text.append(buffer, static_cast<size_t>(bytes));
    }
    return boost::json::parse(text).as_object();
  }
  boost::json::object status() const {
    boost::json::object answer = ask(R"({"op": "status"})");
    return answer.contains("result") ? answer["result"].as_object() : boost::json::object();
  }
  int64_t waits(const char* counter) const {
    boost::json::object s = status();
    return s.empty() ? -1 : s["waits"].as_object()[counter].to_number<int64_t>();
  }
  int64_t kinds(const char* kind) const {
    boost::json::object s = status();
    return s.empty() ? -1 : s["kinds"].as_object()[kind].to_number<int64_t>();
  }
  // Until the counter has reached `value`.
  void await_waits(const char* counter, int64_t value) const {
    for (int i = 0; i < 1000 && waits(counter) < value; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_GE(waits(counter), value) << counter << "; " << log_text();
  }
  std::string log_text() const {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/log").rdbuf();
    return text.str();
  }

 private:
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace gar::test
