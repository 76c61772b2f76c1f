// The card under check, as an ordinary CUDA program uses it: contexts, streams and real work.
//
//   place   a context with the kernels loaded into it: `primary`, in which gard's streams have to
//           be, told to spin in its synchronize calls; and `blocking`, one of our own told to block
//   work    lasts for some rounds, then stores a number into a word of host memory: the witness, in
//           which neither gard nor the library has a hand
//
// Where the driver refuses our kernels the work is memory fills, a round being four bytes, and the
// witness is stored by one more.
//
// Threads: any; each enters a place before it uses its streams. Blocking: open, calibrate.
// Ownership: a card lives until the process ends. Errors: broken, with the call that failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/device/broken.hpp"
#include "tests/device/card_calls.hpp"

namespace gar::device_check {

class card {
 public:
  struct place {
    cuda::context context = nullptr;
    function_handle spin_then_store = nullptr;
    function_handle store_to = nullptr;
  };

  struct options {
    bool kernels = true;
  };
  explicit card(const options& wanted);
  card(const card&) = delete;
  card& operator=(const card&) = delete;

  const cuda_driver& driver() const { return driver_; }
  const card_calls& calls() const { return calls_; }
  cuda::device device() const { return device_; }
  const place& primary() const { return primary_; }
  const place& blocking();
  bool has_kernels() const { return kernels_refused_.empty(); }
  // "cuModuleLoadData failed with status 218 (...)"
  const std::string& kernels_refused() const { return kernels_refused_; }

  std::string name() const;
  int attribute(unsigned which) const;
  unsigned primary_flags() const;

  void enter(const place& at) const;
  cuda::stream make_stream(const place& at) const;
  void destroy_stream(cuda::stream stream) const;

  // Host words that the card stores to, each on a line of its own.
  static constexpr size_t words_max = 256;
  const uint64_t& word(size_t index) const;
  cuda::device_pointer address_of(size_t index) const;

  // Enqueues work; when it is done the word is witness(number).
  void submit(const place& at, cuda::stream on, uint64_t rounds, size_t word,
              uint64_t number) const;
  uint64_t witness(uint64_t number) const { return has_kernels() ? number : number << 32 | number; }
  // A kernel that stores to nowhere.
  void submit_fault(const place& at, cuda::stream on) const;

  // How many rounds last a millisecond. Takes about half a second.
  uint64_t rounds_per_ms() const;

  void need(cuda::status status, const char* call) const;

 private:
  place make_place(cuda::context context);
  void make_words();
  void launch(function_handle kernel, cuda::stream on, void** parameters) const;
  uint64_t time_of(cuda::stream on, uint64_t rounds) const;

  const cuda_driver& driver_;
  card_calls calls_;
  cuda::device device_ = 0;
  place primary_;
  place blocking_;
  std::string kernels_refused_;
  void* words_ = nullptr;
  cuda::device_pointer words_address_ = 0;
  cuda::device_pointer filled_ = 0;  // what fills fill
};

}  // namespace gar::device_check
