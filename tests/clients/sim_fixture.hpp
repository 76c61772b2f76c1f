// A client and one queue of the simulated device, through the C interface alone.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "clients/garclient/gar.h"

namespace gar::test {

inline std::string last_text() {
  char text[1024];
  gar_last_error(text, sizeof(text));
  return text;
}

inline gar_client_options in_process() {
  gar_client_options o{};
  o.struct_bytes = sizeof(o);
  o.flags = GAR_CLIENT_IN_PROCESS;
  return o;
}

inline gar_wait_options wait_options() {
  gar_wait_options o{};
  o.struct_bytes = sizeof(o);
  return o;
}

// Does it come to hold, after however many tries? Each try does something of its own accord.
template <class Holds>
bool comes_to_hold(Holds&& holds) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    if (holds()) return true;
  } while (std::chrono::steady_clock::now() < patience);
  return false;
}

constexpr uint64_t us = 1000;
constexpr uint64_t ms = 1'000'000;

inline uint64_t steady_ns() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

class sim_fixture : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(gar_sim_create(&sim_), 0) << last_text();
    ASSERT_EQ(gar_sim_queue_create(sim_, &queue_), 0);
  }
  void TearDown() override {
    gar_stream_close(stream_);
    gar_close(client_);
    gar_sim_queue_destroy(queue_);
    gar_sim_destroy(sim_);
  }

  // A client without a gard, under this plan.
  void connect(const char* plan) {
    setenv("GAR_PLAN", plan, 1);
    const gar_client_options o = in_process();
    ASSERT_EQ(gar_connect(&o, &client_), 0) << last_text();
    unsetenv("GAR_PLAN");
    open();
  }
  void open() {
    ASSERT_EQ(gar_sim_stream_open(client_, queue_, nullptr, &stream_), 0) << last_text();
  }

  uint64_t submit_and_record(uint64_t duration_ns) {
    EXPECT_EQ(gar_sim_submit(queue_, duration_ns, &truth_, ++work_), 0);
    uint64_t sequence = 0;
    EXPECT_EQ(gar_record(stream_, &sequence), 0) << last_text();
    return sequence;
  }
  // What the last finished work wrote.
  uint64_t truth() const { return __atomic_load_n(&truth_, __ATOMIC_ACQUIRE); }
  void wait_for_truth(uint64_t value) const {
    while (truth() < value) std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the record behind it
  }
  gar_counters counters() const {
    gar_counters c{};
    c.struct_bytes = sizeof(c);
    EXPECT_EQ(gar_client_counters(client_, &c), 0);
    return c;
  }

  gar_sim* sim_ = nullptr;
  gar_sim_queue* queue_ = nullptr;
  gar_client* client_ = nullptr;
  gar_stream* stream_ = nullptr;
  uint64_t truth_ = 0;
  uint64_t work_ = 0;
};

}  // namespace gar::test
