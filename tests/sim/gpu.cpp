#include "tests/sim/gpu.hpp"

#include <algorithm>
#include <cstring>

#include "lib/core/error.hpp"
#include "proto/line.hpp"

namespace gar::sim {
namespace {

constexpr int32_t device_status = 719;

void write_word(memory_file& into, size_t offset, uint64_t value) {
  std::memcpy(into.bytes + offset, &value, sizeof(value));
}

gpu_stream& stream_of(void* stream) {
  return *static_cast<gpu_stream*>(stream);
}

}  // namespace

void gpu_stream::submit(uint64_t takes_ns) {
  busy_until_ns_ = std::max(busy_until_ns_, kernel_->on->now_ns()) + takes_ns;
}

void gpu_stream::break_down() {
  if (broken_ns_ != 0) return;
  broken_ns_ = kernel_->on->now_ns();
  kernel_->on->say(name_, "the device fails");
  kernel_->on->wake(this);
}

void gpu_stream::recorded_word(uint64_t sequence) {
  const memory_scope own(nullptr);
  records_.push_back({sequence, UINT64_MAX, 0, false, {}});
}

void gpu_stream::signalled(uint64_t sequence) {
  for (record& r : records_) {
    if (r.done_ns == UINT64_MAX && static_cast<int64_t>(sequence - r.sequence) >= 0) {
      r.done_ns = kernel_->on->now_ns();
    }
  }
}

const gpu_stream::record* gpu_stream::find(uint64_t sequence) const {
  for (auto r = records_.rbegin(); r != records_.rend(); ++r) {
    if (r->sequence == sequence) return &*r;
  }
  return nullptr;
}

bool gpu_stream::lost_to_fault(const record& r) const {
  return broken_ns_ != 0 && r.done_ns > broken_ns_;
}

bool gpu_stream::done(uint64_t sequence) const {
  const record* r = find(sequence);
  return r && !lost_to_fault(*r) && r->done_ns <= kernel_->on->now_ns();
}

int gpu_stream::fail(gar_device_failure* failure, const char* call) const {
  failure->status = device_status;
  std::strncpy(failure->call, call, sizeof(failure->call) - 1);
  return GAR_FAILED;
}

int gpu_stream::arm(uint64_t sequence, const gar_device_store& word, const gar_device_store* bell,
                    gar_device_failure* failure) {
  const memory_scope own(nullptr);
  machine& m = *kernel_->on;
  m.pass(2'000);
  if (broken_ns_ != 0) return fail(failure, "sim_arm");
  ++counts_->records;
  record r{sequence, std::max(busy_until_ns_, m.now_ns()), 0, false, {}};
  store s;
  size_t offset = 0;
  s.word = kernel_->memory_at(word.page->host, &offset);
  GAR_ASSERT(s.word && offset == 0);
  s.word_offset = word.offset_bytes;
  s.value = word.value;
  r.at = {s.word->number, s.word_offset};
  if (bell) {
    s.bell = kernel_->memory_at(bell->page->host, &offset);
    s.bell_offset = bell->offset_bytes;
    s.bell_value = bell->value;
  }
  uint64_t lands_ns = r.done_ns + m.random.between(50, 1'000);
  bool lost = false;
  if (m.random.chance(how_.lost)) {
    ++counts_->lost;
    lost = r.store_faulty = true;
  } else if (m.random.chance(how_.late)) {
    ++counts_->late;
    r.store_faulty = true;
    lands_ns += m.random.below(how_.late_ns);
  } else if (m.random.chance(how_.early)) {
    ++counts_->early;
    r.store_faulty = true;
    lands_ns = m.now_ns() + m.random.below(r.done_ns - m.now_ns() + 1);
  }
  if (m.random.chance(how_.neighbour)) {
    ++counts_->neighbour;
    s.neighbour = true;
  }
  if (s.bell && m.random.chance(how_.bell_lost)) {
    ++counts_->bell_lost;
    r.store_faulty = true;
    s.bell = nullptr;
  }
  // Stores of one stream land in order.
  if (last_store_ns_ >= lands_ns) r.store_faulty = true;  // behind one that is late
  lands_ns = std::max(lands_ns, last_store_ns_ + 1);
  if (!lost) last_store_ns_ = lands_ns;
  r.stored_ns = lost ? UINT64_MAX : lands_ns;
  records_.push_back(r);
  if (armed) armed(*this, r.at);
  m.say(name_, "record {} done at {:.3f} us, store {}", sequence,
        static_cast<double>(r.done_ns) / 1000.0,
        lost             ? "lost"
        : r.store_faulty ? "faulty"
                         : "fine");
  if (lost) return 0;
  ++pending_stores_;
  m.at(lands_ns, [this, s] { land(s); });
  return 0;
}

void gpu_stream::land(const store& s) {
  machine& m = *kernel_->on;
  --pending_stores_;
  m.wake(this);
  if (stores_stopped_) return;
  // What the fault kept from being done stores nothing.
  const record* r = find(s.value);
  if (r && lost_to_fault(*r)) return;
  write_word(*s.word, s.word_offset, s.value);
  m.say(name_, "store {}", s.value);
  if (landed) landed(*this, {s.word->number, s.word_offset}, s.value);
  if (s.neighbour) {
    // Another stream's word of this line says what is not true of it.
    const size_t other = (s.word_offset & ~size_t{63}) | ((s.word_offset + 8) & 63);
    uint64_t value = 0;
    std::memcpy(&value, s.word->bytes + other, sizeof(value));
    write_word(*s.word, other, value + 1);
  }
  if (!s.bell) return;
  m.at(m.now_ns() + m.random.between(20, 400),
       [s] { write_word(*s.bell, s.bell_offset, s.bell_value); });
}

int gpu_stream::query(uint64_t sequence, gar_device_failure* failure) const {
  kernel_->on->pass(300);
  const record* r = find(sequence);
  if (!r) return GAR_DONE;  // as the port says: not above one that was done, or never heard of
  if (lost_to_fault(*r)) return fail(failure, "sim_query");
  return r->done_ns <= kernel_->on->now_ns() ? GAR_DONE : GAR_PENDING;
}

int gpu_stream::block(uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure,
                      bool spins) {
  machine& m = *kernel_->on;
  const instant until = m.now() + duration{timeout_ns};
  for (;;) {
    const bool last = m.now() >= until;
    const int answer = query(sequence, failure);
    if (answer != GAR_PENDING || last) return answer;
    const record* r = find(sequence);
    const instant next{std::min(r->done_ns, until.ns)};
    m.block({this}, spins ? std::min(next, m.now() + from_us(2)) : next, false);
  }
}

int gpu_stream::settle(gar_device_failure* failure) {
  machine& m = *kernel_->on;
  while (pending_stores_ > 0 || (!word_ && broken_ns_ == 0 && busy_until_ns_ > m.now_ns())) {
    if (broken_ns_ != 0) return fail(failure, "sim_settle");
    m.block({this}, m.now() + from_us(200), false);
  }
  return broken_ns_ != 0 ? fail(failure, "sim_settle") : 0;
}

gar_device_ops gpu_stream::ops(bool blocks) {
  gar_device_ops ops{};
  ops.struct_bytes = sizeof(ops);
  ops.name = "simulated";
  ops.map = [](void*, void*, size_t, void** mapping, gar_device_failure*) {
    *mapping = nullptr;
    return 0;
  };
  ops.unmap = [](void*, void*) { return 0; };
  ops.arm = [](void* stream, uint64_t sequence, const gar_device_store* word,
               const gar_device_store* bell, gar_device_failure* failure) {
    return stream_of(stream).arm(sequence, *word, bell, failure);
  };
  ops.query = [](void* stream, uint64_t sequence, gar_device_failure* failure) {
    return stream_of(stream).query(sequence, failure);
  };
  ops.settle = [](void* stream, gar_device_failure* failure) {
    return stream_of(stream).settle(failure);
  };
  if (!blocks) return ops;
  ops.block = [](void* stream, uint64_t sequence, uint64_t timeout_ns,
                 gar_device_failure* failure) {
    return stream_of(stream).block(sequence, timeout_ns, failure, false);
  };
  ops.poll = [](void* stream, uint64_t sequence, uint64_t timeout_ns, gar_device_failure* failure) {
    return stream_of(stream).block(sequence, timeout_ns, failure, true);
  };
  return ops;
}

}  // namespace gar::sim
