#include "bench/private_gard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json/parse.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "bench/processes.hpp"
#include "lib/core/codec.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::bench {
namespace {

namespace fs = std::filesystem;

constexpr int ready_timeout_ms = 10'000;
constexpr int stop_timeout_ms = 3'000;

std::string make_directory() {
  std::string pattern = (fs::temp_directory_path() / "gar-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) {
    throw cannot_measure("no temporary directory: " + std::string(std::strerror(errno)));
  }
  return pattern;
}

unique_fd listen_for_ready(const std::string& path) {
  unique_fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw cannot_measure("no socket for READY=1: " + std::string(std::strerror(errno)));
  }
  return fd;
}

bool says_ready(int fd) {
  std::array<char, 512> text;
  const ssize_t bytes = ::recv(fd, text.data(), text.size(), MSG_DONTWAIT);
  return bytes > 0 && std::string_view(text.data(), static_cast<size_t>(bytes)).find("READY=1") !=
                          std::string_view::npos;
}

uint64_t count_in(const std::string& file, std::string_view field) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(field, 0) == 0) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
  }
  return 0;
}

// In the new process, before exec.
void be_gard(std::optional<unsigned> core, const std::string& log, char* const* arguments,
             char* const* environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(*core, &set);
    ::sched_setaffinity(0, sizeof(set), &set);
  }
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(file, 1);
  ::dup2(file, 2);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& each : texts) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::string& ready_path) {
  std::vector<std::string> all;
  for (char** each = environ; *each; ++each) {
    const std::string_view text(*each);
    if (text.rfind("NOTIFY_SOCKET=", 0) != 0 && text.rfind("WATCHDOG_", 0) != 0) {
      all.emplace_back(text);
    }
  }
  all.push_back("NOTIFY_SOCKET=" + ready_path);
  return all;
}

// Beside this program, as they are built; else where an installation has its daemons.
std::string gard_program() {
  const std::string beside = own_directory() + "/gard";
  const std::string installed = own_directory() + "/../sbin/gard";
  return fs::exists(beside) || !fs::exists(installed) ? beside : installed;
}

}  // namespace

const char* const awake_config =
    "[executor]\n"
    "software_spin = \"10ms\"\n"
    "[plan]\n"
    "default = \"flag:park_us=100,backstop_us=1000000\"\n";

std::string own_directory() {
  return fs::read_symlink("/proc/self/exe").parent_path().string();
}

private_gard::private_gard(const gard_options& options) : directory_(make_directory()) {
  socket_ = directory_ + "/gard.sock";
  control_ = directory_ + "/control.sock";
  try {
    start(options);
  } catch (...) {
    stop();
    throw;
  }
}

private_gard::~private_gard() {
  stop();
}

void private_gard::start(const gard_options& options) {
  std::ofstream(directory_ + "/gard.toml") << options.config;
  const unique_fd ready = listen_for_ready(directory_ + "/ready.sock");
  std::vector<std::string> words = {gard_program(), "--config",    directory_ + "/gard.toml",
                                    "--socket",     socket_,       "--control",
                                    control_,       "--log-level", "warning"};
  std::vector<std::string> environment = environment_with(directory_ + "/ready.sock");
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  const std::string log = directory_ + "/log";
  const uint64_t from = now_ns();
  pid_ = ::fork();
  if (pid_ < 0) throw cannot_measure(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) be_gard(options.core, log, arguments.data(), variables.data());
  const uint64_t until = from + uint64_t{ready_timeout_ms} * 1'000'000;
  while (now_ns() < until) {
    pollfd one{ready.get(), POLLIN, 0};
    ::poll(&one, 1, 50);
    if (says_ready(ready.get())) {
      ready_ns_ = now_ns() - from;
      return;
    }
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      break;
    }
  }
  throw cannot_measure("gard did not get ready: " + last_words());
}

void private_gard::stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    const uint64_t until = now_ns() + uint64_t{stop_timeout_ms} * 1'000'000;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid_, nullptr, WNOHANG)) == 0 && now_ns() < until) ::usleep(1000);
    if (ended == 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::string private_gard::last_words() const {
  std::ostringstream text;
  text << std::ifstream(directory_ + "/log").rdbuf();
  return text.str();
}

uint64_t private_gard::cpu_ns() const {
  return cpu_ns_of(pid_);
}

uint64_t private_gard::rss_kib() const {
  return count_in("/proc/" + std::to_string(pid_) + "/status", "VmRSS:");
}

uint64_t private_gard::context_switches() const {
  uint64_t sum = 0;
  std::error_code gone;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid_) + "/task", gone)) {
    const std::string status = task.path().string() + "/status";
    sum += count_in(status, "voluntary_ctxt_switches:");
    sum += count_in(status, "nonvoluntary_ctxt_switches:");
  }
  return sum;
}

boost::json::object private_gard::status() const {
  const unique_fd fd = must(
      connect_to(socket_, socket_type::seqpacket, instant{now_ns()} + from_ms(2000)), "connect");
  must(send_message(fd.get(), proto::encode(proto::ask{1, R"({"op": "status"})"})), "ask");
  std::string text;
  std::array<std::byte, proto::frame_bytes_max> buffer;
  for (;;) {
    pollfd one{fd.get(), POLLIN, 0};
    if (::poll(&one, 1, 5000) <= 0) throw cannot_measure("gard does not answer");
    const reception got = must(receive_message(fd.get(), buffer), "status");
    if (got.got != reception::what::message) throw cannot_measure("gard ended the connection");
    const proto::message m = must(proto::decode({buffer.data(), got.bytes}), "status");
    const auto* part = std::get_if<proto::answer>(&m);
    if (!part) throw cannot_measure("gard answered a status with something else");
    text += part->part;
    if (text.size() == part->total_bytes) break;
  }
  return boost::json::parse(text).as_object().at("result").as_object();
}

}  // namespace gar::bench
