// Host files: what this host's /proc, /sys, /etc and sockets say that matters to waits.
//
// Model: read once, below a root that tests make up; nothing is judged here (findings.hpp does).
// Invariants: what is not there, or cannot be read or understood, is absent: an optional without a
// value, an empty text or list.
// Threads: any. Blocking: reads some dozens of small files. Ownership: values. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/linux/cpu_quota.hpp"

namespace gar {

// The file of a socket.
struct socket_file {
  std::string path;
  bool there = false;
  bool hidden = false;  // who asks may not look there
  bool is_socket = false;
  uint32_t mode = 0;  // permission bits
  uint32_t owner = 0;
  std::string group;  // its name, else its number
};

// One user and the group `gard`.
struct membership {
  bool group_exists = false;
  bool listed = false;  // in the group's list, or as the user's own group
  bool held = false;    // by the process: who was added later has to log in again
};

// How long gard's waiting threads stood in line for a CPU.
struct run_queue {
  uint64_t runs = 0;
  duration waited;
};

struct host_files {
  // Who asks, and for whose programs: who called sudo, else the same.
  uint32_t uid = 0;
  bool by_sudo = false;
  std::string user;  // empty: the host knows no name of his
  uint32_t user_uid = 0;
  std::optional<membership> of_gard;
  std::vector<socket_file> sockets;  // as they were asked for

  std::string kernel;  // "6.1.0-18-amd64"
  std::optional<int> io_uring_disabled;
  std::optional<uint64_t> umwait_max_ticks;  // 0: no limit
  std::optional<bool> umwait_c02;
  std::vector<std::string> governors;    // of all CPUs, each once
  std::optional<uint64_t> load_percent;  // of all CPUs, over a minute
  std::string clocksource;
  std::vector<std::string> clocksources;  // those that there are
  std::string memlock_limit;              // "8388608", "unlimited"
  std::vector<std::string> gpus;          // "NVIDIA", "AMD", as the PCI bus has them
  bool nvidia_module = false;
  std::optional<bool> nvidia_memops;  // what the module was told, where it asks

  bool systemd = false;          // it runs here, and has a unit of gard
  std::string latency_dropin;    // the example as installed
  bool latency_allowed = false;  // it was copied to where it counts

  bool gard_process = false;  // the pid that gard says is a gard's here
  std::string config_file = "/etc/gard/gard.toml";
  std::optional<std::string> config_text;
  std::optional<cpu_quota> quota;  // of gard's process, else of this one
  std::optional<cpu_throttling> throttling;
  std::optional<run_queue> queued;
};

struct host_files_options {
  std::string root;              // "" is the host's own
  std::optional<uint64_t> gard;  // its pid, as it says itself
  std::string sudo_user;         // SUDO_USER
  std::vector<std::string> sockets;
};

host_files read_host_files(const host_files_options& options);

}  // namespace gar
