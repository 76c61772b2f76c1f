// The demo's judgement over waits: a device that lies is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/demo/slice.hpp"

namespace gar {
namespace {

// A lane on a word that the test signals by itself; its work writes the truth, or forgets to.
class word_lane : public lane {
 public:
  word_lane(gar_client* client, uint64_t lies_from) : lies_from_(lies_from) {
    EXPECT_EQ(gar_word_stream_open(client, nullptr, &stream_), 0);
  }
  ~word_lane() override { gar_stream_close(stream_); }

  demo_result<submitted> submit(duration) override {
    submitted piece{0, ++number_};
    if (const int e = gar_record(stream_, &piece.sequence)) return library_failure("gar_record", e);
    if (number_ < lies_from_) truth_ = number_;
    if (const int e = gar_signal(stream_, piece.sequence)) return library_failure("gar_signal", e);
    return piece;
  }
  uint64_t truth() const override { return truth_; }
  std::optional<instant> stored_at(uint64_t) const override { return std::nullopt; }
  gar_stream* stream() const override { return stream_; }

 private:
  gar_stream* stream_ = nullptr;
  uint64_t number_ = 0;
  uint64_t lies_from_;
  uint64_t truth_ = 0;
};

class demo_slice : public testing::Test {
 protected:
  demo_slice() {
    gar_client_options options{};
    options.struct_bytes = sizeof(options);
    options.flags = GAR_CLIENT_IN_PROCESS;
    EXPECT_EQ(gar_connect(&options, &client_), 0);
  }
  ~demo_slice() override {
    lanes_.clear();
    gar_close(client_);
  }

  tally run(way_of_waiting how, uint64_t lies_from) {
    lanes_.push_back(std::make_unique<word_lane>(client_, lies_from));
    return run_slice(lanes_, {.how = how, .scripted = false, .work = {}, .first = 0, .waits = 10});
  }

  gar_client* client_ = nullptr;
  std::vector<std::unique_ptr<lane>> lanes_;
};

TEST_F(demo_slice, work_that_wrote_its_word_makes_each_wait_right) {
  const tally counts = run(way_of_waiting::by_plan, 100);
  EXPECT_EQ(counts.waits, 10u);
  EXPECT_EQ(counts.completed, 10u);
  EXPECT_EQ(counts.failed, 0u);
  EXPECT_EQ(counts.blocked + counts.immediate + counts.late + counts.parked, 10u);
  EXPECT_GE(counts.ended_ns, counts.started_ns);
}

TEST_F(demo_slice, success_before_the_work_wrote_its_word_is_a_failure) {
  const tally counts = run(way_of_waiting::by_plan, 8);
  EXPECT_EQ(counts.completed, 7u);
  EXPECT_EQ(counts.failed, 3u);
  EXPECT_THAT(counts.failure, testing::HasSubstr("SUCCESS BEFORE THE WORK WAS DONE"));
  EXPECT_THAT(counts.failure, testing::HasSubstr("stream 0, wait 7"));
}

TEST_F(demo_slice, spinning_is_judged_alike) {
  EXPECT_EQ(run(way_of_waiting::spinning, 8).failed, 3u);
}

TEST_F(demo_slice, each_stream_is_waited_for) {
  lanes_.push_back(std::make_unique<word_lane>(client_, 100));
  lanes_.push_back(std::make_unique<word_lane>(client_, 100));
  const tally counts = run(way_of_waiting::by_plan, 100);
  EXPECT_EQ(counts.completed, 30u);
}

}  // namespace
}  // namespace gar
