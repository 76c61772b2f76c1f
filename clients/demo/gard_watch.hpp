// The demo's view of gard: which one it is, what it costs, and the plans that are set there for the
// demo's own clients.
//
// Model: found once, at the start, on both sockets, which must lead to the same gard. Plans are set
// for client names that nobody else has, and unset with the object. A gard that is lost later is
// told by a warning, once; from then on nothing is asked of it, and its CPU time is what was seen.
// Threads: one. Blocking: as gard_link. Ownership: unsets what it set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "clients/demo/failure.hpp"
#include "clients/garctl/gard_link.hpp"

namespace gar {

// Why there is no gard to run through, and the exit status for it: 3 not reachable, 1 refused, 2 a
// path that cannot be one.
struct no_gard {
  int exit_status = 3;
  std::string text;
};

class gard_watch {
 public:
  struct named_plan {
    std::string client_name;
    std::string text;
  };

  static std::variant<gard_watch, no_gard> find(const gard_link_options& options);
  gard_watch(gard_watch&& other) noexcept;
  gard_watch& operator=(gard_watch&&) = delete;
  ~gard_watch();

  const std::string& clients_path() const { return clients_path_; }
  const std::string& word_wait() const { return word_wait_; }

  std::optional<no_gard> set(const std::vector<named_plan>& plans);
  void unset_all();
  // CPU time of gard's process so far; nullopt: gard is lost.
  std::optional<double> cpu_ms();

 private:
  explicit gard_watch(gard_link link) : link_(std::move(link)) {}
  gard_link link_;
  std::string clients_path_;
  std::string word_wait_;
  std::vector<std::string> set_for_;
  bool lost_ = false;
};

}  // namespace gar
