// What the tests of awaiting need: a client's options for in-process or a gard of the test's own,
// simulated queues, and word streams, whose work ends when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "clients/garclient/gar.hpp"
#include "tests/e2e/gard_process.hpp"

namespace gar::test {

// The parameter: is there a gard?
class loop_fixture : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    failure::check(gar_sim_create(&sim_));
    if (!GetParam()) return;
    std::string pattern = std::filesystem::temp_directory_path() / "gar-loop-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    gard_ = std::make_unique<gard_process>(directory_);
    gard_->start();
  }
  void TearDown() override {
    for (gar_sim_queue* q : queues_) gar_sim_queue_destroy(q);
    gar_sim_destroy(sim_);
    if (gard_ && HasFailure()) ADD_FAILURE() << gard_->log_text();
    gard_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  client_options options() const {
    client_options o;
    o.in_process = !gard_;
    o.need_daemon = gard_ != nullptr;
    if (gard_) o.socket_path = gard_->socket();
    return o;
  }
  // Ends with the test; so must the streams on it.
  gar_sim_queue* queue() {
    gar_sim_queue* q = nullptr;
    failure::check(gar_sim_queue_create(sim_, &q));
    queues_.push_back(q);
    return q;
  }
  static void work(gar_sim_queue* q, uint64_t duration_ns, uint64_t* truth = nullptr) {
    failure::check(gar_sim_submit(q, duration_ns, truth, 1));
  }

  std::unique_ptr<gard_process> gard_;

 private:
  std::string directory_;
  gar_sim* sim_ = nullptr;
  std::vector<gar_sim_queue*> queues_;
};

inline std::string where_name(const ::testing::TestParamInfo<bool>& p) {
  return p.param ? "with_gard" : "in_process";
}

}  // namespace gar::test
