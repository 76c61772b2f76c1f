// What every device behind gar_device_ops must do, whatever it is: one suite, run over each.
//
// A rig gives the suite a device to ask:
//   static std::string why_not()      empty, or why it cannot be had here (the tests are skipped)
//   const gar_device_ops* ops()       the port
//   void* device(), void* stream()    what its verbs take
//   void submit(duration_ns, value)   work on the stream that ends by writing `value`
//   const uint64_t& truth()           the word that the work writes
//
// Pages are shared as in production: made and mapped read-only by one side, written by the other,
// so that what the tests read went through a second mapping. No test asserts that anything was
// fast.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/port/gar_device.h"
#include "proto/line.hpp"
#include "tests/conformance/shared_page.hpp"

namespace gar {

template <class Rig>
class device_suite : public testing::Test {
 protected:
  static constexpr size_t word = 9;  // line 1, slot 1
  static constexpr size_t bell = 3;
  static constexpr uint64_t brief_ns = 300'000;
  static constexpr uint64_t no_timeout = UINT64_MAX;

  void SetUp() override {
    if (std::string why = Rig::why_not(); !why.empty()) GTEST_SKIP() << why;
    rig_ = std::make_unique<Rig>();
    lines_ = std::make_unique<shared_page>(*ops(), rig_->device());
    bells_ = std::make_unique<shared_page>(*ops(), rig_->device());
    ASSERT_TRUE(lines_->mapped()) << lines_->failure().call << ' ' << lines_->failure().status;
    ASSERT_TRUE(bells_->mapped()) << bells_->failure().call << ' ' << bells_->failure().status;
  }
  void TearDown() override {
    if (rig_) {
      EXPECT_EQ(ops()->settle(stream(), &failure_), 0) << failure_.call;
    }
    bells_.reset();
    lines_.reset();
    rig_.reset();
  }

  const gar_device_ops* ops() { return rig_->ops(); }
  void* stream() { return rig_->stream(); }

  int record(uint64_t sequence) {
    const gar_device_store to_word = lines_->store(word, sequence);
    const gar_device_store to_bell = bells_->store(bell, sequence);
    return ops()->arm(stream(), sequence, &to_word, &to_bell, &failure_);
  }
  int query(uint64_t sequence) { return ops()->query(stream(), sequence, &failure_); }
  int finish(uint64_t sequence) { return ops()->block(stream(), sequence, no_timeout, &failure_); }

  std::unique_ptr<Rig> rig_;
  std::unique_ptr<shared_page> lines_, bells_;
  gar_device_failure failure_{};
};

TYPED_TEST_SUITE_P(device_suite);

TYPED_TEST_P(device_suite, a_record_on_an_idle_stream_is_done_and_its_stores_land) {
  ASSERT_EQ(this->record(1), 0) << this->failure_.call << ' ' << this->failure_.status;
  EXPECT_EQ(this->finish(1), GAR_DONE);
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  EXPECT_EQ(this->lines_->word(this->word), 1u);
  EXPECT_EQ(this->bells_->word(this->bell), 1u);
}

TYPED_TEST_P(device_suite, the_blocking_wait_says_done_only_after_the_work) {
  for (uint64_t n = 1; n <= 8; ++n) {
    this->rig_->submit(this->brief_ns, n);
    ASSERT_EQ(this->record(n), 0);
    ASSERT_EQ(this->finish(n), GAR_DONE);
    ASSERT_GE(proto::load_word(this->rig_->truth()), n);
  }
}

TYPED_TEST_P(device_suite, polling_says_done_only_after_the_work) {
  for (uint64_t n = 1; n <= 8; ++n) {
    this->rig_->submit(this->brief_ns, n);
    ASSERT_EQ(this->record(n), 0);
    ASSERT_EQ(this->ops()->poll(this->stream(), n, this->no_timeout, &this->failure_), GAR_DONE);
    ASSERT_GE(proto::load_word(this->rig_->truth()), n);
  }
}

TYPED_TEST_P(device_suite, the_word_arrives_only_after_the_work) {
  for (uint64_t n = 1; n <= 8; ++n) {
    this->rig_->submit(this->brief_ns, n);
    ASSERT_EQ(this->record(n), 0);
    while (this->lines_->word(this->word) < n) std::this_thread::yield();
    ASSERT_GE(proto::load_word(this->rig_->truth()), n);
    ASSERT_EQ(this->finish(n), GAR_DONE);
  }
}

TYPED_TEST_P(device_suite, a_timeout_passes_as_pending_or_the_work_was_really_done) {
  this->rig_->submit(30'000'000, 1);
  ASSERT_EQ(this->record(1), 0);
  for (auto verb : {this->ops()->block, this->ops()->poll}) {
    const int answer = verb(this->stream(), 1, 100'000, &this->failure_);
    const uint64_t truth = proto::load_word(this->rig_->truth());
    EXPECT_TRUE(answer == GAR_PENDING || (answer == GAR_DONE && truth == 1)) << answer;
  }
  EXPECT_EQ(this->finish(1), GAR_DONE);
}

TYPED_TEST_P(device_suite, a_number_below_one_that_is_done_is_done) {
  for (uint64_t n = 11; n <= 14; ++n) ASSERT_EQ(this->record(n), 0);
  ASSERT_EQ(this->finish(14), GAR_DONE);
  for (uint64_t n = 11; n <= 14; ++n) EXPECT_EQ(this->query(n), GAR_DONE);
  EXPECT_EQ(this->query(15), GAR_PENDING) << "never recorded, so never done";
}

TYPED_TEST_P(device_suite, numbers_wrap) {
  const uint64_t first = UINT64_MAX - 1;
  this->lines_->set(this->word, first - 1);
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(this->record(first + i), 0);
  ASSERT_EQ(this->finish(first + 3), GAR_DONE);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(this->query(first + i), GAR_DONE);
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  EXPECT_EQ(this->lines_->word(this->word), 1u);
}

TYPED_TEST_P(device_suite, two_hundred_records_can_be_in_flight) {
  for (uint64_t n = 1; n <= 200; ++n) {
    if (n % 50 == 1) this->rig_->submit(this->brief_ns, n);
    ASSERT_EQ(this->record(n), 0) << n << ' ' << this->failure_.call;
  }
  ASSERT_EQ(this->finish(100), GAR_DONE);
  ASSERT_EQ(this->finish(200), GAR_DONE);
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  EXPECT_EQ(this->lines_->word(this->word), 200u);
  EXPECT_EQ(this->bells_->word(this->bell), 200u);
}

TYPED_TEST_P(device_suite, the_bell_never_comes_before_its_word_and_neither_goes_back) {
  constexpr uint64_t last = 600;
  std::atomic<bool> right{true};
  // Looks as often as it can: the two stores are less than a microsecond apart.
  std::thread watcher([&] {
    uint64_t word_before = 0, bell_before = 0;
    while (bell_before < last) {
      const uint64_t bell_now = this->bells_->word(this->bell);
      const uint64_t word_now = this->lines_->word(this->word);
      if (word_now < bell_now || word_now < word_before || bell_now < bell_before) right = false;
      word_before = word_now;
      bell_before = bell_now;
    }
  });
  bool armed = true;
  for (uint64_t n = 1; n <= last && armed; ++n) {
    if (n % 50 == 0) this->rig_->submit(100'000, n);
    armed = this->record(n) == 0 && (n % 200 != 0 || this->finish(n) == GAR_DONE);
  }
  if (!armed) this->bells_->set(this->bell, last);  // lets the watcher go
  watcher.join();
  EXPECT_TRUE(armed);
  EXPECT_TRUE(right);
}

// Both into one place: what is there in the end was stored last, however close the two were.
TYPED_TEST_P(device_suite, the_bell_is_stored_behind_the_word) {
  for (uint64_t n = 1; n <= 20; ++n) {
    const gar_device_store to_word = this->lines_->store(this->word, n);
    const gar_device_store to_bell = this->lines_->store(this->word, 1000 + n);
    ASSERT_EQ(this->ops()->arm(this->stream(), n, &to_word, &to_bell, &this->failure_), 0);
    ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
    ASSERT_EQ(this->lines_->word(this->word), 1000 + n);
  }
}

TYPED_TEST_P(device_suite, done_is_seen_in_order_by_several_threads) {
  constexpr uint64_t last = 24;
  std::atomic<bool> right{true};
  std::vector<std::thread> askers;
  for (uint64_t n = 1; n <= 3; ++n) ASSERT_EQ(this->record(n), 0);
  std::atomic<uint64_t> recorded{3};
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([&, i] {
      gar_device_failure failure{};
      for (uint64_t n = 1; n <= last; ++n) {
        // Of a number that it never heard of a device may say that it will never be done.
        while (recorded < n) std::this_thread::yield();
        int answer = GAR_PENDING;
        while (answer == GAR_PENDING) {
          answer = i == 0 ? this->ops()->query(this->stream(), n, &failure)
                          : this->ops()->block(this->stream(), n, 200'000, &failure);
          std::this_thread::yield();
        }
        const int before = this->ops()->query(this->stream(), n - 1, &failure);
        if (answer != GAR_DONE || before != GAR_DONE) right = false;
      }
    });
  }
  for (uint64_t n = 4; n <= last; ++n) {
    this->rig_->submit(50'000, n);
    if (this->record(n) != 0) right = false;
    recorded = n;
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_TRUE(right);
}

TYPED_TEST_P(device_suite, a_record_without_a_bell_stores_its_word_alone) {
  const gar_device_store to_word = this->lines_->store(this->word, 1);
  ASSERT_EQ(this->ops()->arm(this->stream(), 1, &to_word, nullptr, &this->failure_), 0);
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  EXPECT_EQ(this->query(1), GAR_DONE);
  EXPECT_EQ(this->lines_->word(this->word), 1u);
  EXPECT_EQ(this->lines_->word(this->word - 1), 0u);
  EXPECT_EQ(this->lines_->word(this->word + 1), 0u);
  EXPECT_EQ(this->bells_->word(this->bell), 0u);
}

TYPED_TEST_P(device_suite, a_store_outside_its_page_is_refused_and_enqueues_nothing) {
  gar_device_store outside = this->lines_->store(this->word, 1);
  outside.offset_bytes = outside.page->bytes;
  EXPECT_EQ(this->ops()->arm(this->stream(), 1, &outside, nullptr, &this->failure_), GAR_FAILED);
  EXPECT_NE(this->failure_.call[0], '\0');
  outside.offset_bytes = 4;
  EXPECT_EQ(this->ops()->arm(this->stream(), 1, &outside, nullptr, &this->failure_), GAR_FAILED);
  EXPECT_EQ(this->record(1), 0);
  EXPECT_EQ(this->finish(1), GAR_DONE);
}

TYPED_TEST_P(device_suite, a_stream_whose_work_all_ended_is_idle) {
  if (!this->ops()->idle) return;  // it need not tell
  EXPECT_EQ(this->ops()->idle(this->stream(), &this->failure_), GAR_DONE);
  this->rig_->submit(this->brief_ns, 1);
  ASSERT_EQ(this->record(1), 0);
  ASSERT_EQ(this->finish(1), GAR_DONE);
  // What was enqueued behind the record, a doorbell's store, is the stream's work too.
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  EXPECT_EQ(this->ops()->idle(this->stream(), &this->failure_), GAR_DONE);
}

TYPED_TEST_P(device_suite, a_page_given_back_keeps_what_was_stored) {
  ASSERT_EQ(this->record(1), 0);
  ASSERT_EQ(this->ops()->settle(this->stream(), &this->failure_), 0);
  this->lines_->unmap();
  EXPECT_EQ(this->lines_->word(this->word), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(
    device_suite, a_record_on_an_idle_stream_is_done_and_its_stores_land,
    the_blocking_wait_says_done_only_after_the_work, polling_says_done_only_after_the_work,
    the_word_arrives_only_after_the_work, a_timeout_passes_as_pending_or_the_work_was_really_done,
    a_number_below_one_that_is_done_is_done, numbers_wrap, two_hundred_records_can_be_in_flight,
    the_bell_never_comes_before_its_word_and_neither_goes_back, the_bell_is_stored_behind_the_word,
    done_is_seen_in_order_by_several_threads, a_record_without_a_bell_stores_its_word_alone,
    a_store_outside_its_page_is_refused_and_enqueues_nothing, a_stream_whose_work_all_ended_is_idle,
    a_page_given_back_keeps_what_was_stored);

}  // namespace gar
