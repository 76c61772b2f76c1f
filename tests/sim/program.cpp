#include "tests/sim/program.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "lib/core/error.hpp"

namespace gar::sim {
namespace {

void* tag(uint64_t number) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(number));
}

}  // namespace

program::program(kernel& k, judge& j, const run_settings& how, gpu_counts& counts, int number)
    : kernel_(&k), judge_(&j), how_(&how), counts_(&counts) {
  process_ = &k.on->start_process("client" + std::to_string(number), 1000);
  process_->plan_text = how.gard.plan;
  ops_ = gpu_stream::ops(how.devices.blocks);
  k.on->start_thread(*process_, process_->name, [this] { run(); });
}

void program::killed() {
  for (const std::unique_ptr<gpu_stream>& s : streams_) s->stop_stores();
  judge_->drop(*process_);
  ended_ = true;
}

void program::think(uint64_t most_ns) {
  kernel_->on->block({}, kernel_->on->now() + duration{random().spread(500, most_ns)}, false);
}

void program::run() {
  gar_client_options o{};
  o.struct_bytes = sizeof(o);
  o.socket_path = "/run/gard.sock";
  o.name = process_->name.c_str();
  o.flags = GAR_CLIENT_LOOK | (how_->in_process ? GAR_CLIENT_IN_PROCESS : 0);
  o.look_us = how_->look_us;
  if (const int refused = gar_connect(&o, &client_)) {
    return judge_->found("strange error", fmt::format("gar_connect: {}", refused));
  }
  running_ = how_->threads_per_client;
  for (size_t i = 1; i < how_->threads_per_client; ++i) {
    kernel_->on->start_thread(*process_, fmt::format("{}/{}", process_->name, i),
                              [this, i] { run_thread(i); });
  }
  run_thread(0);
  while (running_ > 0) kernel_->on->block({this}, instant::never(), false);
  while (async_open_ > 0) take(process_->name, true);
  gar_counters c{};
  c.struct_bytes = sizeof(c);
  gar_client_counters(client_, &c);
  judge_->counters_of(process_->name, c);
  gar_close(client_);
  kernel_->on->say(process_->name, "has ended");
  ended_ = true;
}

void program::run_thread(size_t index) {
  const std::string who(running_thread()->name);
  std::vector<held> streams;
  for (size_t i = 0; i < how_->streams_per_thread; ++i) streams.push_back(open(who));
  for (size_t i = 0; i < how_->steps; ++i) step(who, streams[random().below(streams.size())]);
  for (held& s : streams) close(who, s);
  (void)index;
  --running_;
  kernel_->on->wake(this);
}

program::held program::open(const std::string& who) {
  held s;
  const bool word = how_->word_streams && random().below(2) == 0;
  {
    const memory_scope own(nullptr);
    streams_.push_back(
        std::make_unique<gpu_stream>(*kernel_, how_->devices, *counts_,
                                     fmt::format("{}:s{}", process_->name, streams_.size()), word));
    s.gpu = streams_.back().get();
    if (opens) opens(*s.gpu);
  }
  gar_stream_options o{};
  o.struct_bytes = sizeof(o);
  o.name = "s";
  const int refused = word ? gar_word_stream_open(client_, &o, &s.handle)
                           : gar_stream_open(client_, &ops_, this, s.gpu, &o, &s.handle);
  if (refused) judge_->found("strange error", fmt::format("{}: open: {}", who, refused));
  kernel_->on->say(who, "opens {}{}", s.gpu->name(), word ? ", a word stream" : "");
  return s;
}

void program::record(const std::string& who, held& s) {
  const uint64_t least_ns = random().below(2) == 0 ? 500 : how_->work_ns_max / 2;
  if (!s.gpu->is_word()) s.gpu->submit(random().spread(least_ns, how_->work_ns_max));
  uint64_t sequence = 0;
  const int refused = gar_record(s.handle, &sequence);
  if (refused == 0) {
    if (s.gpu->is_word()) {
      s.gpu->recorded_word(sequence);
      ++s.gpu->producers;
      const memory_scope own(nullptr);
      // The producer: another thread, or the word would never be stored.
      kernel_->on->start_thread(*process_, who + "+",
                                [this, &s = *s.gpu, handle = s.handle, sequence,
                                 takes_ns = random().spread(500, how_->work_ns_max)] {
                                  kernel_->on->block({}, kernel_->on->now() + duration{takes_ns},
                                                     false);
                                  s.signalled(sequence);
                                  gar_signal(handle, sequence);
                                  if (--s.producers == 0) kernel_->on->wake(&s.producers);
                                });
    }
    s.waiting.push_back(sequence);
    return;
  }
  const auto code = static_cast<errc>(refused);
  const bool failed = code == errc::StreamFailed || code == errc::Backend;
  if (!failed || !s.gpu->broken()) {
    judge_->found("strange error", fmt::format("{}: record: {}", who, refused));
  }
  s.failed = true;
}

void program::step(const std::string& who, held& s) {
  if (random().below(3) == 0) think(how_->think_ns_max);
  for (uint64_t records = random().between(1, 3); records > 0 && !s.failed; --records) {
    record(who, s);
  }
  if (how_->points && random().below(4) == 0) {
    gar_rows(client_, static_cast<uint32_t>(random().below(60)));
  }
  while (!s.waiting.empty() && random().below(6) != 0) {
    const size_t which = random().below(s.waiting.size());
    const uint64_t sequence = s.waiting[which];
    s.waiting.erase(s.waiting.begin() + static_cast<std::ptrdiff_t>(which));
    if (how_->asyncs && random().below(4) != 0) {
      wait_async(who, s, sequence);
    } else {
      wait(who, s, sequence);
    }
  }
  if (async_open_ > 0) take(who, random().below(3) == 0);
  if (how_->reopens && random().below(4) == 0) {
    close(who, s);
    s = open(who);
  }
}

gar_wait_options program::draw_options(uint64_t* timeout_ns) {
  static const char* const names[] = {"p1", "p2", "p3"};
  gar_wait_options o{};
  o.struct_bytes = sizeof(o);
  if (how_->timeouts && random().below(3) == 0) {
    o.timeout_ns = random().spread(1'000, 2 * how_->work_ns_max);
  }
  *timeout_ns = o.timeout_ns;
  if (how_->points && random().below(3) != 0) o.point = names[random().below(3)];
  if (random().below(4) == 0) {
    o.flags |= GAR_WAIT_ROWS;
    o.rows = static_cast<uint32_t>(random().below(60));
  }
  return o;
}

void program::wait(const std::string& who, held& s, uint64_t sequence) {
  uint64_t timeout_ns = 0;
  gar_wait_options o = draw_options(&timeout_ns);
  const bool is_inline = how_->inlines && random().below(2) == 0;
  if (is_inline) o.flags |= GAR_WAIT_INLINE;
  const uint64_t number = judge_->begins(
      {who, process_, s.gpu, sequence, 0, timeout_ns, false, false, is_inline, false});
  gar_report report{};
  const int error = gar_wait(s.handle, sequence, &o, &report);
  judge_->ends(number, error, report);
}

void program::wait_async(const std::string& who, held& s, uint64_t sequence) {
  uint64_t timeout_ns = 0;
  const gar_wait_options o = draw_options(&timeout_ns);
  const uint64_t number =
      judge_->begins({who, process_, s.gpu, sequence, 0, timeout_ns, false, false, false, true});
  uint64_t ticket = 0;
  ++async_open_;
  const int refused = gar_wait_async(s.handle, sequence, &o, tag(number), &ticket);
  if (refused) {
    --async_open_;
    return judge_->found("strange error", fmt::format("{}: gar_wait_async: {}", who, refused));
  }
  if (how_->cancels && random().below(3) == 0) {
    if (random().below(2) == 0) think(how_->work_ns_max);
    if (judge_->open().contains(number)) judge_->open_wait(number).cancelled = true;
    gar_cancel(client_, ticket);
  }
}

void program::take(const std::string& who, bool all) {
  do {
    pollfd readable{gar_client_fd(client_), POLLIN, 0};
    const timespec patience{0, 500'000};
    // One of several threads may find that another took what woke it.
    const bool alone = how_->threads_per_client == 1 && random().below(4) != 0;
    if (all) ::ppoll(&readable, 1, alone ? nullptr : &patience, nullptr);
    gar_completion ended[4];
    size_t count = 0;
    gar_take(client_, ended, 4, &count);
    for (size_t i = 0; i < count; ++i) {
      --async_open_;
      judge_->ends(reinterpret_cast<uintptr_t>(ended[i].user_data), ended[i].error,
                   ended[i].report);
    }
  } while (all && async_open_ > 0);
  (void)who;
}

void program::close(const std::string& who, held& s) {
  while (!s.waiting.empty()) {
    const uint64_t sequence = s.waiting.back();
    s.waiting.pop_back();
    wait(who, s, sequence);
  }
  {
    const memory_scope own(nullptr);
    for (const auto& [number, open] : judge_->open()) {
      if (open.stream == s.gpu) judge_->open_wait(number).closed = true;
    }
  }
  while (s.gpu->producers > 0) {
    kernel_->on->block({&s.gpu->producers}, instant::never(), false);
  }
  kernel_->on->say(who, "closes {}", s.gpu->name());
  const int refused = gar_stream_close(s.handle);
  if (refused && !s.gpu->broken()) {
    judge_->found("strange error", fmt::format("{}: close: {}", who, refused));
  }
  s.handle = nullptr;
}

}  // namespace gar::sim
