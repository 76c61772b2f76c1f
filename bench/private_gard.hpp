// A gard of the bench's own: the real program, with sockets, a configuration and a directory that
// nobody else has.
//
//   started -> READY=1 -> measured -> told to stop, and collected
//
// Ownership: the process and the directory end with the object. Threads: one. Blocking: start, to
// READY=1 or ten seconds; asking. Errors: cannot_measure, with gard's own last words.
#pragma once

#include <sys/types.h>

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "bench/measure.hpp"

namespace gar::bench {

// The plan and the software word wait of the cases about latency: gard's reactor never sleeps while
// a wait is pending, as one with a hardware monitor never would.
extern const char* const awake_config;

struct gard_options {
  std::string config;            // of gard.toml; empty: as shipped
  std::optional<unsigned> core;  // none: where it likes
};

class private_gard {
 public:
  explicit private_gard(const gard_options& options);
  ~private_gard();
  private_gard(const private_gard&) = delete;
  private_gard& operator=(const private_gard&) = delete;

  const std::string& socket() const { return socket_; }
  const std::string& control() const { return control_; }
  pid_t pid() const { return pid_; }
  uint64_t ready_ns() const { return ready_ns_; }  // from exec to READY=1

  uint64_t cpu_ns() const;
  uint64_t rss_kib() const;
  // Voluntary and not, of all threads, so far.
  uint64_t context_switches() const;
  // The `result` of a status request.
  boost::json::object status() const;

 private:
  void start(const gard_options& options);
  void stop();
  std::string last_words() const;

  std::string directory_;
  std::string socket_;
  std::string control_;
  pid_t pid_ = 0;
  uint64_t ready_ns_ = 0;
};

// The directory that this program lies in.
std::string own_directory();

}  // namespace gar::bench
