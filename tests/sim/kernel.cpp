#include "tests/sim/kernel.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace gar::sim {

kernel* kernel_now = nullptr;

namespace {

std::vector<std::pair<size_t, std::byte*>> free_memory;

}  // namespace

memory_file::~memory_file() {
  if (bytes) free_memory.emplace_back(size, bytes);
  if (kernel_now) kernel_now->memories.erase(bytes);
}

std::byte* kernel::take_pages(size_t size) {
  std::byte* taken = nullptr;
  const auto at = std::find_if(free_memory.begin(), free_memory.end(),
                               [size](const auto& f) { return f.first == size; });
  if (at != free_memory.end()) {
    taken = at->second;
    free_memory.erase(at);
  } else {
    taken = static_cast<std::byte*>(std::aligned_alloc(4096, (size + 4095) & ~size_t{4095}));
  }
  std::memset(taken, 0, size);
  return taken;
}

// ---- sockets

socket_end::~socket_end() {
  if (kernel_now && connected) {
    if (const std::shared_ptr<socket_end> other = peer.lock()) {
      other->ended = true;
      kernel_now->changed(*other);
    }
  }
}

bool socket_end::readable() const {
  if (shut) return true;
  if (!inbox.empty()) return inbox.front().arrives_ns <= kernel_now->on->now_ns();
  return ended;
}

bool socket_end::writable() const {
  const std::shared_ptr<socket_end> other = peer.lock();
  return !other || ended || other->inbox.size() < kernel_now->faults.messages_max;
}

bool timer_file::readable() const {
  return due_ns != 0 && due_ns <= kernel_now->on->now_ns();
}

bool set_file::readable() const {
  return std::any_of(entries.begin(), entries.end(), [](const entry& e) {
    const std::shared_ptr<open_file> file = e.file.lock();
    return file && (e.events & EPOLLIN) && file->readable();
  });
}

set_file::~set_file() {
  for (entry& e : entries) {
    if (const std::shared_ptr<open_file> file = e.file.lock()) std::erase(file->in_sets, this);
  }
}

std::shared_ptr<listener_file> kernel::listen(const std::string& path, process& by) {
  const memory_scope own(nullptr);
  auto made = std::make_shared<listener_file>();
  made->what = open_file::kind::listener;
  made->holder = &by;
  listeners_[path] = made;
  return made;
}

int kernel::connect(socket_end& from, const std::string& path) {
  const auto at = listeners_.find(path);
  const std::shared_ptr<listener_file> to = at == listeners_.end() ? nullptr : at->second.lock();
  if (!to) return at == listeners_.end() ? ENOENT : ECONNREFUSED;
  auto other = std::make_shared<socket_end>();
  other->what = open_file::kind::socket;
  other->connection = from.connection = ++connections_made_;
  other->holder = to->holder;
  other->connected = from.connected = true;
  from.by_client = true;
  auto self = std::static_pointer_cast<socket_end>(
      *std::find_if(from.holder->files.begin(), from.holder->files.end(),
                    [&](const auto& f) { return f.get() == &from; }));
  other->peer = self;
  from.peer = other;
  clients_.push_back(self);
  to->waiting.push_back(std::move(other));
  changed(*to);
  return 0;
}

std::shared_ptr<socket_end> kernel::accept(listener_file& at) {
  if (at.waiting.empty()) return nullptr;
  std::shared_ptr<socket_end> taken = std::move(at.waiting.front());
  at.waiting.pop_front();
  return taken;
}

std::vector<std::shared_ptr<socket_end>> kernel::connections() const {
  std::vector<std::shared_ptr<socket_end>> all;
  for (const std::weak_ptr<socket_end>& w : clients_) {
    const std::shared_ptr<socket_end> one = w.lock();
    if (one && !one->ended) all.push_back(one);
  }
  return all;
}

void kernel::cut(socket_end& one) {
  const std::shared_ptr<socket_end> other = one.peer.lock();
  ++counts.cut;
  on->say("kernel", "connection {} is cut", one.connection);
  if (ended) ended(one, "cut");
  // What had not arrived is lost, or is not.
  const bool lost = on->random.below(2) == 0;
  for (socket_end* end : {&one, other.get()}) {
    if (!end) continue;
    end->ended = true;
    if (lost) end->inbox.clear();
    changed(*end);
  }
}

int kernel::send(socket_end& from, std::vector<std::byte> bytes,
                 std::vector<std::shared_ptr<open_file>> files) {
  const std::shared_ptr<socket_end> to = from.peer.lock();
  if (!to || from.ended || from.shut) return EPIPE;
  if (on->random.chance(faults.cut)) {
    cut(from);
    return EPIPE;
  }
  if (to->inbox.size() >= faults.messages_max) {
    ++counts.full;
    return EAGAIN;
  }
  if (rewrite) rewrite(from, bytes);
  if (seen) seen(from, bytes, files);
  ++counts.messages;
  uint64_t takes_ns = on->random.between(300, 2'000);
  if (on->random.chance(faults.delayed)) {
    ++counts.delayed;
    takes_ns += on->random.below(faults.delayed_ns);
  }
  const uint64_t arrives_ns = std::max(on->now_ns() + takes_ns, to->last_arrival_ns);
  to->last_arrival_ns = arrives_ns;
  to->inbox.push_back({std::move(bytes), std::move(files), arrives_ns});
  on->at(arrives_ns, [this, weak = std::weak_ptr<socket_end>(to)] {
    if (const std::shared_ptr<socket_end> there = weak.lock()) changed(*there);
  });
  return 0;
}

int kernel::receive(socket_end& at, sent_message& into) {
  if (at.shut) at.inbox.clear();
  if (!at.inbox.empty() && at.inbox.front().arrives_ns <= on->now_ns()) {
    into = std::move(at.inbox.front());
    at.inbox.pop_front();
    if (const std::shared_ptr<socket_end> other = at.peer.lock()) changed(*other);
    return 1;
  }
  if (at.inbox.empty() && (at.ended || at.shut)) return 0;
  return -1;
}

// ---- descriptors

std::shared_ptr<open_file> kernel::file_of(int number) const {
  const std::vector<std::shared_ptr<open_file>>& files = on->running()->of->files;
  if (number < 0 || static_cast<size_t>(number) >= files.size()) return nullptr;
  return files[static_cast<size_t>(number)];
}

int kernel::give(process& to, std::shared_ptr<open_file> file) {
  const memory_scope own(nullptr);
  for (size_t i = 3; i < to.files.size(); ++i) {
    if (to.files[i]) continue;
    to.files[i] = std::move(file);
    return static_cast<int>(i);
  }
  to.files.push_back(std::move(file));
  return static_cast<int>(to.files.size() - 1);
}

int kernel::put(std::shared_ptr<open_file> file) {
  return give(*on->running()->of, std::move(file));
}

void kernel::end_of(socket_end& gone) {
  if (gone.connected && ended) ended(gone, "closed");
}

void kernel::close(int number) {
  std::vector<std::shared_ptr<open_file>>& files = on->running()->of->files;
  if (number < 0 || static_cast<size_t>(number) >= files.size()) return;
  const std::shared_ptr<open_file> gone = std::move(files[static_cast<size_t>(number)]);
  if (gone && gone->what == open_file::kind::socket) end_of(static_cast<socket_end&>(*gone));
}

void kernel::kill(process& which) {
  for (const std::shared_ptr<open_file>& f : which.files) {
    if (f && f->what == open_file::kind::socket) end_of(static_cast<socket_end&>(*f));
  }
  const std::vector<std::shared_ptr<open_file>> files = std::move(which.files);
  on->kill(which);
  const auto at = deaths_.find(which.pid);
  if (at == deaths_.end()) return;
  *at->second = true;
  for (const std::unique_ptr<process>& p : on->processes()) {
    for (const std::shared_ptr<open_file>& f : p->files) {
      if (f && f->what == open_file::kind::death) changed(*f);
    }
  }
}

std::shared_ptr<bool> kernel::death_of(process& which) {
  std::shared_ptr<bool>& dead = deaths_[which.pid];
  if (!dead) dead = std::make_shared<bool>(false);
  return dead;
}

void kernel::changed(open_file& file) {
  if (!on) return;
  on->wake(&file);
  for (open_file* s : file.in_sets) {
    auto* set = static_cast<set_file*>(s);
    for (set_file::entry& e : set->entries) {
      if (e.address == &file) e.edge = true;
    }
    changed(*set);
  }
}

std::shared_ptr<memory_file> kernel::memory_at(const void* address, size_t* offset) const {
  const auto* at = static_cast<const std::byte*>(address);
  auto found = memories.upper_bound(at);
  if (found == memories.begin()) return nullptr;
  --found;
  std::shared_ptr<memory_file> file = found->second.lock();
  if (!file || at >= file->bytes + file->size) return nullptr;
  *offset = static_cast<size_t>(at - file->bytes);
  return file;
}

}  // namespace gar::sim
