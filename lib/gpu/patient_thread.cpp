#include "lib/gpu/patient_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace gar {
namespace {

thread_local bool impatient = false;

class patient_thread {
 public:
  bool post(std::function<void()> work) {
    std::lock_guard hold(lock_);
    if (!start()) return false;
    works_.push_back(std::move(work));
    posted_.notify_one();
    return true;
  }

 private:
  bool start() {
    if (thread_.joinable()) return true;
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

  void run() {
    for (;;) {
      std::unique_lock hold(lock_);
      posted_.wait(hold, [this] { return !works_.empty(); });
      std::function<void()> work = std::move(works_.front());
      works_.pop_front();
      hold.unlock();
      work();
    }
  }

  std::mutex lock_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> works_;
  std::thread thread_;
};

}  // namespace

void mark_thread_impatient() {
  impatient = true;
}

bool thread_is_impatient() {
  return impatient;
}

bool post_to_patient_thread(std::function<void()> work) {
  static patient_thread* const thread = new patient_thread;  // it runs until the process ends
  return thread->post(std::move(work));
}

}  // namespace gar
