#include "bench/call_trace.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gar::bench {
namespace {

namespace fs = std::filesystem;

constexpr int attach_timeout_ms = 10'000;

std::string make_file() {
  std::string pattern = (fs::temp_directory_path() / "gar-bench-calls-XXXXXX").string();
  const unique_fd fd(::mkstemp(pattern.data()));
  if (!fd) throw cannot_measure("no temporary file");
  return pattern;
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string name_of_call(const std::string& line) {
  const std::string name = line.substr(0, line.find('('));
  if (name != "futex") return name;
  return line.find("FUTEX_WAKE") == std::string::npos ? "futex wait" : "futex wake";
}

}  // namespace

call_counts count_calls(const std::string& text) {
  call_counts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // Signals, exits, and the end of what began before.
    const bool is_call = !line.empty() && line[0] >= 'a' && line[0] <= 'z';
    if (!is_call || line.find('(') == std::string::npos) continue;
    if (line.rfind("restart_syscall", 0) == 0) continue;
    ++counts[name_of_call(line)];
  }
  return counts;
}

pid_t thread_named(pid_t process, const std::string& name) {
  for (const fs::directory_entry& each :
       fs::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    std::string is;
    std::getline(std::ifstream(each.path() / "comm"), is);
    if (is == name) return std::stoi(each.path().filename());
  }
  throw cannot_measure("no thread is named " + name);
}

call_trace::call_trace(pid_t thread) : file_(make_file()) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw cannot_measure("no pipe");
  said_.reset(ends[0]);
  unique_fd to(ends[1]);
  const std::string tid = std::to_string(thread);
  strace_ = child([&] {
    ::dup2(to.get(), STDOUT_FILENO);
    ::dup2(to.get(), STDERR_FILENO);
    ::execlp("strace", "strace", "-p", tid.c_str(), "-o", file_.c_str(), nullptr);
    ::_exit(127);
  });
  to.reset();
  // Of a thread of this process, where only descendants may be traced; elsewhere of no effect.
  ::prctl(PR_SET_PTRACER, strace_.pid(), 0, 0, 0);
  await_attached();
}

call_trace::~call_trace() {
  ::unlink(file_.c_str());
}

std::string call_trace::said_more() {
  pollfd readable{said_.get(), POLLIN, 0};
  std::array<char, 512> text;
  if (::poll(&readable, 1, attach_timeout_ms) <= 0) return {};
  const ssize_t bytes = ::read(said_.get(), text.data(), text.size());
  return bytes <= 0 ? std::string() : std::string(text.data(), static_cast<size_t>(bytes));
}

void call_trace::await_attached() {
  std::string said;
  while (said.find(" attached") == std::string::npos) {
    const std::string more = said_more();
    said += more;
    if (!more.empty()) continue;
    ::unlink(file_.c_str());
    throw cannot_measure(said.empty() ? "there is no strace" : said.substr(0, said.find('\n')));
  }
}

call_counts call_trace::stop() {
  ::kill(strace_.pid(), SIGINT);
  // It ends by the signal that it was told to end by.
  (void)strace_.join();
  return count_calls(text_of(file_));
}

}  // namespace gar::bench
