// The owner's half of a wait against a gard that says anything at any time: a wait ends done only
// when the device said so, and never sleeps for gard alone.
//
// Input: a plan's fields, then what gard says, what the device answers and how time passes.
#include "lib/core/owner_wait.hpp"

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

class run_of_wait {
 public:
  explicit run_of_wait(input from) : from_(from), request_(any_request()), wait_(request_, now_) {}

  void run() {
    for (int i = 0; i < 300 && !over_; ++i) {
      hear();
      step();
    }
    if (over_) return;
    // Nothing more from gard; the device says done. It must end by the owner's own backstop.
    device_done_ = true;
    for (int i = 0; i < 20 && !over_; ++i) step();
    must(over_);
  }

 private:
  owner_wait::request any_request() {
    owner_wait::request r;
    r.how.park = park_kind::flag;
    r.how.park_max = from_us(100);
    r.how.backstop = from_us(1 + from_.value() % 1'000'000);
    if (from_.flip()) {
      r.how.predict = prediction{{}, {}, from_us(from_.value() % 10'000'000), 8};
    }
    now_ = instant{from_.value()};
    r.start = now_;
    if (from_.flip()) r.deadline = r.start + duration{from_.value()};
    return r;
  }

  void hear() {
    switch (from_.choice(8)) {
      case 0: {
        proto::completion_entry e{};
        e.code = from_.number<uint16_t>();
        e.kind = from_.byte();
        e.slept_ns = from_.value();
        confirmed_ = confirmed_ || (wait_.at_gard() && e.code == 0 && from_.flip());
        e.confirmed = confirmed_;
        return wait_.completed(e);
      }
      case 1:
        return wait_.refused(static_cast<errc>(from_.number<uint16_t>()));
      case 2:
        return wait_.lost();
      case 3:
        return wait_.heard(now_ - duration{from_.value()});
      case 4:
        now_ = now_ + duration{from_.value()};
        return;
      default:
        return;
    }
  }

  void step() {
    const owner_wait::step next = wait_.next(now_);
    switch (next.what) {
      case owner_wait::todo::ask:
        return answer();
      case owner_wait::todo::end:
        over_ = true;
        return check_end();
      case owner_wait::todo::leave:
        over_ = true;
        return;
      case owner_wait::todo::sleep:
        must(next.until != instant::never() || now_.ns > UINT64_MAX / 2);
        must(next.until > now_ || next.until == instant::never());
        now_ = next.until;
    }
  }
  void answer() {
    const uint8_t how = device_done_ ? 1 : from_.byte() % 3;
    if (how == 0) return wait_.answered(false, now_);
    said_done_ = how == 1;
    said_failed_ = how == 2;
    wait_.answered(
        how == 1 ? result<bool>(true) : result<bool>(error(errc::Backend, {"q", "7"}, 7)), now_);
  }
  void check_end() const {
    const owner_wait::result_of_wait& end = wait_.ending();
    if (!end.failure) return must(said_done_ || confirmed_);
    if (end.failure->code() == errc::TimedOut) return must(now_ >= request_.deadline);
    must(said_failed_ && end.failure->code() == errc::Backend);
  }

  input from_;
  instant now_;
  owner_wait::request request_;
  owner_wait wait_;
  bool said_done_ = false;
  bool said_failed_ = false;
  bool confirmed_ = false;  // the owner knew that the target is done
  bool device_done_ = false;
  bool over_ = false;
};

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  gar::fuzz::run_of_wait(gar::fuzz::input(data, bytes)).run();
  return 0;
}
