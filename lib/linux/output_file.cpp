#include "lib/linux/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <streambuf>
#include <utility>

#include "lib/linux/system_call.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {
namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};
// What a handler may read: the part that is being written; empty: none.
std::array<char, PATH_MAX> part_at_signal;
std::array<struct sigaction, ending_signals.size()> actions_before;

// Once: the signal's action is the default one again, and raised anew it ends the process.
void unlink_part(int signal) {
  if (part_at_signal[0] != '\0') ::unlink(part_at_signal.data());
  std::raise(signal);
}

void watch_signals(const std::string& part) {
  GAR_ASSERT(part_at_signal[0] == '\0' && part.size() < part_at_signal.size());
  part.copy(part_at_signal.data(), part.size());
  struct sigaction act {};
  act.sa_handler = unlink_part;
  act.sa_flags = static_cast<int>(SA_RESETHAND);
  for (size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], nullptr, &actions_before[i]);
    if (actions_before[i].sa_handler != SIG_IGN) ::sigaction(ending_signals[i], &act, nullptr);
  }
}

void leave_signals() {
  for (size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], &actions_before[i], nullptr);
  }
  part_at_signal.fill('\0');
}

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

// An absolute path without links; the last part need not exist.
std::optional<std::string> resolved(const std::string& path) {
  const auto real = [](const std::string& of) -> std::optional<std::string> {
    const std::unique_ptr<char, decltype(&std::free)> name(::realpath(of.c_str(), nullptr),
                                                           &std::free);
    return name ? std::optional<std::string>(name.get()) : std::nullopt;
  };
  if (auto whole = real(path)) return whole;
  const size_t slash = path.rfind('/');
  const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
  if (errno != ENOENT || last.empty()) return std::nullopt;
  const auto directory = real(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  return directory ? std::optional(*directory + '/' + last) : std::nullopt;
}

}  // namespace

// A descriptor through stdio, which buffers and keeps what errno said first.
class output_file::buffer final : public std::streambuf {
 public:
  explicit buffer(unique_fd fd) : file_(::fdopen(fd.get(), "w")) {
    if (file_) fd.release();
    keep_errno(file_ != nullptr);
  }
  ~buffer() override { close(); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  int flush() {
    if (file_) keep_errno(std::fflush(file_) == 0);
    return errno_;
  }
  int close() {
    if (std::FILE* open = std::exchange(file_, nullptr)) keep_errno(std::fclose(open) == 0);
    return errno_;
  }

 protected:
  std::streamsize xsputn(const char* from, std::streamsize count) override {
    const auto bytes = static_cast<size_t>(count);
    const size_t taken = file_ ? std::fwrite(from, 1, bytes, file_) : 0;
    keep_errno(taken == bytes);
    return static_cast<std::streamsize>(taken);
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return flush() == 0 ? 0 : -1; }

 private:
  void keep_errno(bool went) {
    if (!went && errno_ == 0) errno_ = errno;
  }

  std::FILE* file_;
  int errno_ = 0;
};

output_file::output_file(const std::string& path) : path_(path), text_(nullptr) {}

result<std::unique_ptr<output_file>> output_file::make(const std::string& path) {
  std::unique_ptr<output_file> made(new output_file(path));
  if (auto wrong = made->open(path)) return *wrong;
  return made;
}

// A file that is there is opened for writing, so that the kernel's own rules are asked for it.
std::optional<error> output_file::open(const std::string& path) {
  unique_fd there(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!there && errno != ENOENT) return last_system_error("open " + path);
  struct stat before {};
  if (there && ::fstat(there.get(), &before) != 0) return last_system_error("fstat " + path);
  if (!there || S_ISREG(before.st_mode)) {
    const auto target = resolved(path);
    if (!target) return last_system_error("open " + path);
    return open_part(*target, there ? &before : nullptr);
  }
  buffer_ = std::make_unique<buffer>(std::move(there));
  text_.rdbuf(buffer_.get());
  return std::nullopt;
}

std::optional<error> output_file::open_part(const std::string& target, const struct stat* before) {
  std::string part = target + ".XXXXXX.part";
  if (part.size() >= part_at_signal.size()) return system_error("open " + path_, ENAMETOOLONG);
  unique_fd fd(::mkostemps(part.data(), 5, O_CLOEXEC));
  if (!fd) return last_system_error("open " + part);
  watch_signals(part);
  part_ = part;
  target_ = target;
  // Who may not give it away has made it as its own.
  if (before && ::fchown(fd.get(), before->st_uid, before->st_gid) != 0) errno = 0;
  ::fchmod(fd.get(), before ? before->st_mode & 0777 : mode_of_new_files());
  buffer_ = std::make_unique<buffer>(std::move(fd));
  text_.rdbuf(buffer_.get());
  return std::nullopt;
}

std::optional<error> output_file::failure() {
  const int os_number = buffer_->flush();
  return os_number == 0 ? std::nullopt : std::optional(system_error("write " + path_, os_number));
}

std::optional<error> output_file::keep() {
  const int os_number = buffer_->close();
  if (os_number != 0) return system_error("write " + path_, os_number);
  if (part_.empty()) return std::nullopt;
  if (std::rename(part_.c_str(), target_.c_str()) != 0) return last_system_error("rename " + path_);
  leave_signals();
  part_.clear();
  return std::nullopt;
}

output_file::~output_file() {
  if (part_.empty()) return;
  std::remove(part_.c_str());
  leave_signals();
}

}  // namespace gar
