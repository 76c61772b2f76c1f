#include "lib/linux/ring_client.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "lib/linux/futex.hpp"
#include "lib/linux/pipe_signal.hpp"

namespace gar {
namespace {

template <class T>
T load(T& shared, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref<T>(shared).load(order);
}

template <class T>
void store(T& shared, T value, std::memory_order order = std::memory_order_relaxed) {
  std::atomic_ref<T>(shared).store(value, order);
}

// One value after the other, each written once, so that a peer that looks too early sees old or
// new, and this side never reads back.
template <class T>
void copy_out(T& shared, const T& value) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> words;
  std::memcpy(words.data(), &value, sizeof(T));
  auto* to = reinterpret_cast<uint64_t*>(&shared);
  for (size_t i = 0; i < words.size(); ++i) store(to[i], words[i]);
}

error malformed(const std::string& what) {
  return error(errc::MalformedMessage, {"the ring: " + what});
}

// Before it is known what it is nothing may be asked of it that a file system would answer, when it
// likes: of a pipe alone the kernel does by itself.
result<void> check_pipe(int fd) {
  if (::fcntl(fd, F_GETPIPE_SZ) < 0) return malformed("no pipe");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) return malformed("not a pipe's read end");
  return {};
}

}  // namespace

result<ring_client> ring_client::receive(unique_fd memory, unique_fd pipe, uint32_t entries) {
  if (!proto::valid_ring_entries(entries)) return malformed(std::to_string(entries) + " entries");
  const size_t bytes = proto::ring_bytes(entries);
  result<void> checked = check_memory_file(memory.get(), bytes, sealing::fixed_size, "the ring");
  if (checked) checked = check_pipe(pipe.get());
  if (!checked) return checked.error();
  result<mapping> map = mapping::of(memory.get(), bytes, map_access::read_write);
  if (!map) return map.error();
  return ring_client(std::move(pipe), std::move(*map), entries);
}

ring_client::ring_client(ring_client&& other) noexcept
    : pipe_(std::move(other.pipe_)),
      map_(std::move(other.map_)),
      entries_(other.entries_),
      submit_tail_(other.submit_tail_),
      outcome_tail_(other.outcome_tail_),
      complete_head_(other.complete_head_.load(std::memory_order_relaxed)) {}

proto::ring_slot& ring_client::slot(uint32_t index) const {
  return reinterpret_cast<proto::ring_slot*>(base() + proto::ring_slots_offset(entries_))[index];
}

// ---- Requests.

// A head ahead of the tail, which is a lie, leaves room: it is gard's loss.
bool ring_client::room() const {
  const uint64_t untaken = submit_tail_ - load(header().submit_head, std::memory_order_acquire);
  return untaken < entries_ || untaken > UINT64_MAX / 2;
}

bool ring_client::taken(uint64_t count) const {
  return static_cast<int64_t>(load(header().submit_head, std::memory_order_acquire) - count) >= 0;
}

void ring_client::submit_wait(uint16_t index, const proto::ring_request& asked) {
  copy_out(slot(index).request, asked);
  submit(index, proto::submit_wait);
}

void ring_client::submit_point(uint16_t index, uint32_t number, std::string_view name) {
  proto::ring_request asked{};
  asked.point = number;
  copy_out(slot(index).request, asked);
  std::array<char, proto::name_field_bytes> field{};
  std::copy_n(name.begin(), std::min(name.size(), field.size() - 1), field.begin());
  std::memcpy(slot(index).point_name, field.data(), field.size());
  submit(index, proto::submit_point);
}

void ring_client::submit_cancel(uint16_t index) {
  submit(index, proto::submit_cancel);
}

void ring_client::submit(uint16_t index, uint16_t op) {
  auto* table = reinterpret_cast<uint32_t*>(base() + proto::ring_submit_offset);
  const proto::submission said{index, op};
  uint32_t word = 0;
  std::memcpy(&word, &said, sizeof(word));
  store(table[submit_tail_ & (entries_ - 1)], word);
  store(header().submit_tail, ++submit_tail_, std::memory_order_release);
}

// ---- Ends.

uint64_t ring_client::complete_tail() const {
  return load(header().complete_tail, std::memory_order_acquire);
}

result<std::optional<ring_client::end>> ring_client::take_end() {
  const uint64_t tail = complete_tail();
  const uint64_t head = complete_head_.load(std::memory_order_relaxed);
  if (tail == head) return std::optional<end>();
  if (tail - head > entries_) return malformed("its tail is too far ahead");
  auto* table = reinterpret_cast<uint32_t*>(base() + proto::ring_complete_offset(entries_));
  end taken{load(table[head & (entries_ - 1)]), {}};
  if (taken.slot >= entries_) return malformed("no such slot");
  complete_head_.store(head + 1, std::memory_order_relaxed);
  proto::ring_completion& from = slot(taken.slot).completion;
  taken.entry.wait_ns = load(from.wait_ns);
  taken.entry.slept_ns = load(from.slept_ns);
  taken.entry.parks = load(from.parks);
  taken.entry.backstop_queries = load(from.backstop_queries);
  taken.entry.code = load(from.code);
  taken.entry.kind = load(from.kind);
  taken.entry.status = load(from.status);
  return std::optional<end>(taken);
}

// ---- Sleeping.

uint32_t ring_client::signal() const {
  return load(header().signal, std::memory_order_acquire);
}

void ring_client::want(uint32_t bits) const {
  std::atomic_ref<uint32_t>(header().wants).fetch_or(bits, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void ring_client::sleep(uint32_t seen, instant until) const {
  futex_wait(header().signal, seen, until);
}

void ring_client::end_sleep() const {
  std::atomic_ref<uint32_t>(header().signal).fetch_add(1, std::memory_order_release);
  futex_wake(header().signal);
}

void ring_client::drain_pipe() const {
  gar::drain_pipe(pipe_.get());
}

// ---- Outcomes.

size_t ring_client::outcomes() const {
  const uint64_t untaken = outcome_tail_ - load(header().outcome_head, std::memory_order_acquire);
  return untaken > UINT64_MAX / 2 ? 0 : static_cast<size_t>(untaken);
}

bool ring_client::put_outcome(const proto::outcome_entry& entry) {
  if (outcomes() >= proto::ring_outcomes) return false;
  auto* table = reinterpret_cast<proto::ring_outcome*>(base() + proto::ring_outcomes_offset);
  proto::ring_outcome said{};
  said.entry = entry;
  copy_out(table[outcome_tail_++ % proto::ring_outcomes], said);
  return true;
}

void ring_client::show_outcomes() const {
  store(header().outcome_tail, outcome_tail_, std::memory_order_release);
}

}  // namespace gar
