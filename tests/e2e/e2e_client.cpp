// A client that an end-to-end test drives: one command a line on stdin, one JSON answer a line.
//
//   connect NAME STREAMS        {"mode","connect_ms"}
//   start COUNT MS [TIMEOUT_MS] {"started"}: COUNT asynchronous waits, one behind the other on
//                               each stream
//   take MS                     {"taken","right","failed",...}: their ends, for at most MS
//   wait MS                     {"error","name","text","right",...}: one wait on stream 0
//   fault NAME VALUE            {"error"}: for stream 0's next record or work: lost, late, early,
//                               device, arm
//   fork MS                     {"child"}: the exit status of a forked child, 0 if it was refused
//                               the inherited stream and its own client's wait ended right
//   mode                        {"mode"}
//   counters                    {"delegated","in_process",...}
//
// "right" means: success came after the work had written its number, its own witness.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "clients/garclient/gar.h"
#include "lib/linux/steady_clock.hpp"

namespace {

struct stream_state {
  gar_sim_queue* queue = nullptr;
  gar_stream* stream = nullptr;
  uint64_t truth = 0;
  uint64_t number = 0;
};

struct pending_wait {
  stream_state* on;
  uint64_t number;  // what the truth says at least, once the work is done
};

uint64_t now_ms() {
  return gar::steady_clock().now().ns / 1'000'000;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

class driven_client {
 public:
  void run() {
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string verb;
      words >> verb;
      std::cout << answer(verb, words) << std::endl;
    }
  }

 private:
  std::string answer(const std::string& verb, std::istream& words) {
    if (verb == "connect") return connect(words);
    if (verb == "start") return start(words);
    if (verb == "take") return take(words);
    if (verb == "wait") return wait(words);
    if (verb == "fault") return fault(words);
    if (verb == "fork") return forked(words);
    if (verb == "mode") return "{\"mode\":" + std::to_string(gar_mode(client_)) + "}";
    if (verb == "counters") return counters();
    return "{\"unknown\":" + quoted(verb) + "}";
  }

  std::string connect(std::istream& words) {
    std::string name;
    size_t streams = 0;
    words >> name >> streams;
    gar_client_options options{};
    options.struct_bytes = sizeof(options);
    options.name = name.c_str();
    const uint64_t began = now_ms();
    int error = gar_connect(&options, &client_);
    const uint64_t took = now_ms() - began;
    if (error == 0) error = gar_sim_create(&sim_);
    for (size_t i = 0; i < streams && error == 0; ++i) error = open_stream();
    if (error != 0) return failed(error);
    return "{\"error\":0,\"mode\":" + std::to_string(gar_mode(client_)) +
           ",\"connect_ms\":" + std::to_string(took) + "}";
  }

  int open_stream() {
    stream_state& one = streams_.emplace_back();
    if (const int error = gar_sim_queue_create(sim_, &one.queue)) return error;
    return gar_sim_stream_open(client_, one.queue, nullptr, &one.stream);
  }

  // Work, and the record behind it.
  int submit(stream_state& on, uint64_t ms, uint64_t& sequence) {
    ++on.number;
    if (const int error = gar_sim_submit(on.queue, ms * 1'000'000, &on.truth, on.number)) {
      return error;
    }
    return gar_record(on.stream, &sequence);
  }

  std::string start(std::istream& words) {
    size_t count = 0;
    uint64_t ms = 0;
    uint64_t timeout_ms = 0;
    words >> count >> ms >> timeout_ms;
    gar_wait_options options{};
    options.struct_bytes = sizeof(options);
    options.timeout_ns = timeout_ms * 1'000'000;
    for (size_t i = 0; i < count; ++i) {
      stream_state& on = streams_[i % streams_.size()];
      uint64_t sequence = 0;
      int error = submit(on, ms, sequence);
      pending_wait* wait = new pending_wait{&on, on.number};
      if (error == 0) {
        error = gar_wait_async(on.stream, sequence, &options, wait, nullptr);
      }
      if (error != 0) return failed(error);
      ++pending_;
    }
    return "{\"error\":0,\"started\":" + std::to_string(count) + "}";
  }

  std::string take(std::istream& words) {
    uint64_t ms = 0;
    words >> ms;
    const uint64_t deadline = now_ms() + ms;
    size_t taken = 0;
    size_t right = 0;
    size_t in_process = 0;
    size_t delegated = 0;
    std::map<std::string, size_t> errors;
    while (pending_ > 0 && now_ms() < deadline) {
      pollfd one{gar_client_fd(client_), POLLIN, 0};
      ::poll(&one, 1, static_cast<int>(deadline - now_ms()));
      gar_completion done[32];
      size_t count = 0;
      if (const int error = gar_take(client_, done, 32, &count)) return failed(error);
      for (size_t i = 0; i < count; ++i) {
        pending_wait* wait = static_cast<pending_wait*>(done[i].user_data);
        --pending_;
        ++taken;
        in_process += done[i].report.in_process;
        delegated += done[i].report.delegated;
        if (done[i].error != 0) ++errors[gar_error_name(done[i].error)];
        if (done[i].error == 0 && truth_of(*wait->on) >= wait->number) ++right;
        delete wait;
      }
    }
    std::string text;
    for (const auto& [name, count] : errors) {
      text += (text.empty() ? "" : ",") + quoted(name) + ":" + std::to_string(count);
    }
    std::ostringstream out;
    out << "{\"taken\":" << taken << ",\"right\":" << right << ",\"in_process\":" << in_process
        << ",\"delegated\":" << delegated << ",\"left\":" << pending_ << ",\"errors\":{" << text
        << "}}";
    return out.str();
  }

  std::string wait(std::istream& words) {
    uint64_t ms = 0;
    words >> ms;
    stream_state& on = streams_[0];
    uint64_t sequence = 0;
    if (const int error = submit(on, ms, sequence)) return failed(error);
    gar_wait_options options{};
    options.struct_bytes = sizeof(options);
    options.timeout_ns = 20'000'000'000;
    gar_report report{};
    const int error = gar_wait(on.stream, sequence, &options, &report);
    if (error != 0) return failed(error);
    std::ostringstream out;
    out << "{\"error\":0,\"right\":" << (truth_of(on) == on.number ? "true" : "false")
        << ",\"kind\":" << int{report.kind} << ",\"delegated\":" << int{report.delegated}
        << ",\"in_process\":" << int{report.in_process} << ",\"wait_ns\":" << report.wait_ns
        << ",\"backstop_queries\":" << report.backstop_queries
        << ",\"early_words\":" << report.early_words << "}";
    return out.str();
  }

  std::string fault(std::istream& words) {
    static const std::map<std::string, int> faults = {{"lost", GAR_SIM_FAULT_LOST_STORE},
                                                      {"late", GAR_SIM_FAULT_LATE_STORE},
                                                      {"early", GAR_SIM_FAULT_EARLY_STORE},
                                                      {"device", GAR_SIM_FAULT_DEVICE_ERROR},
                                                      {"arm", GAR_SIM_FAULT_ARM_ERROR}};
    std::string name;
    uint64_t value = 0;
    words >> name >> value;
    const int error = gar_sim_fault(streams_[0].queue, faults.at(name), value);
    return error == 0 ? "{\"error\":0}" : failed(error);
  }

  std::string forked(std::istream& words) {
    uint64_t ms = 0;
    words >> ms;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(child_alone(ms));
    int status = -1;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return failed(GAR_E_SYSTEM_CALL);
    return "{\"child\":" + std::to_string(status) + "}";
  }
  // In the child: which step went wrong, 0 for none.
  int child_alone(uint64_t ms) {
    uint64_t sequence = 0;
    if (gar_record(streams_[0].stream, &sequence) != GAR_E_FORKED_CHILD) return 1;
    if (gar_wait_stream(streams_[0].stream, nullptr, nullptr) != GAR_E_FORKED_CHILD) return 2;
    driven_client own;
    std::istringstream name("child 1");
    own.connect(name);
    if (gar_mode(own.client_) != GAR_MODE_DAEMON) return 3;
    if (own.submit(own.streams_[0], ms, sequence) != 0) return 4;
    if (gar_wait(own.streams_[0].stream, sequence, nullptr, nullptr) != 0) return 5;
    return truth_of(own.streams_[0]) == own.streams_[0].number ? 0 : 6;
  }

  std::string counters() {
    gar_counters c{};
    c.struct_bytes = sizeof(c);
    if (const int error = gar_client_counters(client_, &c)) return failed(error);
    std::ostringstream out;
    out << "{\"error\":0,\"waits\":" << c.waits << ",\"delegated\":" << c.delegated
        << ",\"in_process\":" << c.in_process << ",\"limit_refused\":" << c.limit_refused
        << ",\"early_words\":" << c.early_words << ",\"owner_backstops\":" << c.owner_backstops
        << ",\"reconnects\":" << c.reconnects << "}";
    return out.str();
  }

  static uint64_t truth_of(stream_state& of) {
    return std::atomic_ref<uint64_t>(of.truth).load(std::memory_order_acquire);
  }

  static std::string failed(int error) {
    char text[1024];
    gar_last_error(text, sizeof(text));
    return "{\"error\":" + std::to_string(error) + ",\"name\":" + quoted(gar_error_name(error)) +
           ",\"text\":" + quoted(text) + "}";
  }

  gar_client* client_ = nullptr;
  gar_sim* sim_ = nullptr;
  std::deque<stream_state> streams_;  // addresses stay
  size_t pending_ = 0;
};

}  // namespace

int main() {
  driven_client client;
  client.run();
  // What is left is the system's to take back: tests end clients in every state.
  std::_Exit(0);
}
