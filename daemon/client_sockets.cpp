#include "daemon/client_sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <vector>

#include "daemon/accept_pause.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar {
namespace asio = boost::asio;

namespace {

// So many frames of one client, and so many new clients, before others have their turn.
constexpr int frames_per_turn = 64;
constexpr int accepts_per_turn = 64;
constexpr int frames_left_max = 1024;  // more than a socket holds
// Running out of descriptors is said once in so long, however many clients knock.
constexpr duration complaint_pause = from_ms(1000);

unique_fd open_spare() {
  return unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

client_sockets::client_sockets(asio::io_context& io, wiring to)
    : io_(&io), to_(std::move(to)), accept_again_(io), spare_(open_spare()), timer_(io) {}

client_sockets::~client_sockets() {
  for (auto& [id, c] : clients_) c.socket.release();
}

// ---- coming in

void client_sockets::accept_on(unique_fd listener) {
  listener_.emplace(*io_, listener.release());
  wait_to_accept();
}

void client_sockets::stop_accepting() {
  listener_.reset();
  accept_again_.cancel();
}

void client_sockets::wait_to_accept() {
  if (!listener_) return;
  listener_->async_wait(asio::posix::stream_descriptor::wait_read,
                        [this](const boost::system::error_code& failed) {
                          if (!failed) accept_some();
                        });
}

void client_sockets::accept_some() {
  for (int i = 0; i < accepts_per_turn && listener_; ++i) {
    result<std::optional<unique_fd>> accepted = to_.accept(listener_->native_handle());
    if (!accepted) {
      if (!turn_away_one(accepted.error())) return accept_later();
      break;
    }
    if (!*accepted) break;
    if (!spare_) spare_ = open_spare();  // where the last could not be had again
    if (result<void> admitted = to_.reserve.admit((*accepted)->get()); !admitted) {
      count_turned_away(admitted.error());
      continue;
    }
    accept_one(std::move(**accepted));
  }
  carry_out();
  wait_to_accept();
}

// Without this the connection would stay in the queue and wake the thread for ever. false: it stays
// there, since the whole machine has run out, or somebody else was faster.
bool client_sockets::turn_away_one(const error& why) {
  spare_.reset();
  const bool accepted = to_.accept(listener_->native_handle()).has_value();
  spare_ = open_spare();
  if (accepted) {
    count_turned_away(why);
  } else if (may_complain()) {
    log(log_level::warning, "clients knock and cannot be let in: " + why.headline());
  }
  return accepted;
}

void client_sockets::accept_later() {
  carry_out();
  accept_again_.expires_after(std::chrono::nanoseconds(accept_pause.ns));
  accept_again_.async_wait([this](const boost::system::error_code& failed) {
    if (!failed) wait_to_accept();
  });
}

void client_sockets::count_turned_away(const error& why) {
  ++turned_away_;
  if (!may_complain()) return;
  log(log_level::warning,
      fmt::format("{} clients were turned away: {}", turned_away_, why.headline()));
  turned_away_ = 0;
}

bool client_sockets::may_complain() {
  const instant now = clock_.now();
  if (now < complain_at_) return false;
  complain_at_ = now + complaint_pause;
  return true;
}

void client_sockets::accept_one(unique_fd socket) {
  result<peer_identity> identity = peer_of(socket.get());
  if (!identity) {
    return log(log_level::warning, "a client was turned away: " + identity.error().headline());
  }
  const peer who{identity->uid, identity->gid, identity->pid};
  asio::posix::stream_descriptor watched(*io_);
  boost::system::error_code refused;
  watched.assign(socket.get(), refused);  // the kernel bounds what one user may watch
  if (refused) return say_turned_away(who, refused.message());
  result<session_id> connected =
      to_.node->with([&](node& n) { return n.connect(who, clock_.now()); });
  if (!connected) {
    watched.release();
    return refuse_connection(socket.get(), who, connected.error());
  }
  link_up(*connected, who, std::move(socket), std::move(watched));
}

void client_sockets::say_turned_away(const peer& who, const std::string& why) {
  log_about(who.uid, log_level::warning,
            fmt::format("uid {} pid {} was turned away: {}", who.uid, who.pid, why));
}

void client_sockets::refuse_connection(int fd, const peer& who, const error& why) {
  say_turned_away(who, why.headline());
  (void)send_message(fd, proto::encode(proto::refusal{0, why.number(), 0, true, why.text()}));
  end_connection(fd);
}

void client_sockets::link_up(session_id id, const peer& who, unique_fd socket,
                             asio::posix::stream_descriptor watched) {
  const node_limits limits = to_.node->with([](node& n) { return n.limits(); });
  auto link = std::make_shared<session_link>(
      std::move(socket), limits.unread_bytes_per_client,
      [this, id] { asio::post(*io_, [this, id] { blocked(id); }); },
      unread_of(who.uid, limits.unread_bytes_per_user));
  const int fd = watched.native_handle();
  to_.node->with([&](node&) {
    clients_.emplace(id, client{who.uid, std::move(link), std::move(watched), {}});
  });
  watch_process(id, peer_pidfd(fd));
  read_from(id);
}

// Without it a death is seen by the socket's end, unless another process holds that too.
void client_sockets::watch_process(session_id id, result<unique_fd> process) {
  if (!process || to_.reserve.holds(process->get())) return;
  client& c = clients_.at(id);
  c.process.emplace(*io_);
  boost::system::error_code refused;
  c.process->assign(process->get(), refused);
  if (refused) return c.process.reset();
  process->release();
  c.process->async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, id](const boost::system::error_code& failed) {
                          if (!failed) process_ended(id);
                        });
}

void client_sockets::process_ended(session_id id) {
  // What it sent before it died still counts: an outcome, a bye. Whoever else holds its socket may
  // go on sending.
  const auto at = clients_.find(id);
  if (at != clients_.end() && at->second.by_ring) {
    to_.waits->owner_died(id);
    return to_.waits->kick();
  }
  for (int i = 0; i < frames_left_max && read_one(id); ++i) {
  }
  to_.node->with([id](node& n) { n.disconnect(id); });
  carry_out();
}

// ---- frames

void client_sockets::read_from(session_id id) {
  client& c = clients_.at(id);
  if (c.reading) return;
  c.reading = true;
  c.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this, id](const boost::system::error_code& failed) {
                        if (!failed) read_some(id);
                      });
}

void client_sockets::read_some(session_id id) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) return;
  at->second.reading = false;
  bool more = true;
  for (int i = 0; i < frames_per_turn && more; ++i) more = read_one(id);
  to_.waits->kick();
  const auto still = clients_.find(id);
  if (still == clients_.end() || still->second.by_ring) return;
  if (!still->second.link->has_unsent()) read_from(id);
}

bool client_sockets::read_one(session_id id) {
  const auto at = clients_.find(id);
  if (at == clients_.end() || at->second.by_ring || at->second.link->has_unsent()) return false;
  result<reception> got = receive_message(at->second.socket.native_handle(), frame_);
  if (got && got->got == reception::what::nothing) return false;
  to_.node->with([&](node& n) {
    if (!got && got.error().code() != errc::SystemCall) {
      n.receive_failed(id, got.error());
    } else if (!got || got->got == reception::what::ended) {
      n.disconnect(id);
    } else {
      n.receive(id, std::span(frame_).first(got->bytes), got->descriptor_count, clock_.now());
    }
  });
  carry_effects();
  return true;
}

// ---- going out

void client_sockets::blocked(session_id id) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) return;
  if (std::optional<error> why = at->second.link->broken()) {
    to_.node->with([&](node& n) { n.refuse_session(id, *why); });
    return carry_out();
  }
  if (!at->second.by_ring) write_to(id);
}

void client_sockets::write_to(session_id id) {
  client& c = clients_.at(id);
  if (c.link->send_unsent()) {
    answer_sent(id);
    set_timer();
    return read_from(id);
  }
  if (std::exchange(c.writing, true)) return;
  c.socket.async_wait(asio::posix::stream_descriptor::wait_write,
                      [this, id](const boost::system::error_code& failed) {
                        const auto at = clients_.find(id);
                        if (failed || at == clients_.end()) return;
                        at->second.writing = false;
                        write_to(id);
                      });
}

void client_sockets::answer_sent(session_id to) {
  to_.node->with([&](node& n) { n.answer_sent(to, clock_.now()); });
}

void client_sockets::send_rest(instant until) {
  for (;;) {
    bool all = true;
    for (auto& [id, c] : clients_) all = c.link->send_unsent() && all;
    const instant now = clock_.now();
    if (all || now >= until) break;
    (void)thread_timer().sleep_until(std::min(now + from_ms(5), until));
  }
}

result<lines_view> client_sockets::make_page(session_id of) {
  result<lines_page> page = lines_page::make();
  if (!page) return page.error();
  if (result<void> admitted = to_.reserve.admit(page->fd()); !admitted) return admitted.error();
  std::vector<lines_page>& pages = clients_.at(of).link->pages();
  pages.push_back(std::move(*page));
  const lines_page& made = pages.back();
  return lines_view{&made.word(0), made.words()};
}

result<uint32_t> client_sockets::make_ring(session_id of, uint32_t entries) {
  if (free_flags_.empty() && flags_used_ == proto::request_flags_max) {
    return error(errc::LimitClients, {std::to_string(proto::request_flags_max)});
  }
  result<ring_page> page = ring_page::make(entries);
  if (!page) return page.error();
  if (result<void> admitted = to_.reserve.admit(page->highest_fd()); !admitted) {
    return admitted.error();
  }
  if (free_flags_.empty()) free_flags_.push_back(flags_used_++);
  const uint32_t flag = free_flags_.back();
  free_flags_.pop_back();
  clients_.at(of).link->ring() = session_link::client_notification{std::move(*page), flag};
  return flag;
}

duration_histogram client_sockets::told(session_id who) const {
  const auto at = clients_.find(who);
  return at == clients_.end() ? duration_histogram{} : at->second.link->told().read();
}

void client_sockets::carry_out() {
  carry_effects();
  to_.waits->kick();
}

void client_sockets::carry_effects() {
  for (;;) {
    shared_node::taken taken = to_.node->take_effects();
    if (taken.resume) to_.waits->resume();
    if (taken.effects.empty()) break;
    for (effect::any& e : taken.effects) {
      std::visit([this](auto& what) { this->carry(what); }, e);
    }
  }
  set_timer();
}

void client_sockets::carry(effect::send& e) {
  const auto at = clients_.find(e.to);
  if (at == clients_.end()) return;
  session_link& link = *at->second.link;
  if (std::holds_alternative<proto::plan_scope>(e.what)) {
    link.send_uncounted(proto::encode(e.what));
    return has_messages(e.to, at->second);
  }
  std::array<int, 5> descriptors{};
  size_t count = 0;
  if (e.descriptors != effect::with::nothing) descriptors[count++] = link.pages().back().fd();
  if (e.descriptors == effect::with::welcome_pages) {
    look_at_canary();
    descriptors[count++] = to_.bell->fd();
    descriptors[count++] = to_.state->fd();
    if (const auto& ring = link.ring()) {
      descriptors[count++] = ring->page.fd();
      descriptors[count++] = ring->page.pipe_fd();
      to_.waits->attach(e.to, at->second.link);
    }
  }
  link.send(proto::encode(e.what), std::span(descriptors).first(count));
  if (e.descriptors == effect::with::welcome_pages && to_.waits->carries_sockets()) {
    give_away(e.to, at->second);
  }
  has_messages(e.to, at->second);
}

// From here on no readiness of this socket wakes the io thread.
void client_sockets::give_away(session_id id, client& c) {
  c.socket.release();
  c.by_ring = true;
  c.link->leave_to_ring();
  to_.waits->adopt(id, c.link);
}

void client_sockets::take_back() {
  for (auto& [id, c] : clients_) c.by_ring = false;
}

void client_sockets::has_messages(session_id id, client& c) {
  if (c.by_ring && c.link->tell_ring()) to_.waits->has_messages(id);
}

// A hole under the doorbell parts those devices from it that pinned the page before: what they ring
// is seen by nobody, and their waits end by a look, at most one park bound late. Whoever connects
// from here on rings the page as it is now.
void client_sockets::look_at_canary() {
  if (to_.bell->canary_intact()) return;
  log(log_level::warning,
      "somebody punched a hole into the doorbell page: devices of clients that connected before "
      "ring unheard, so their waits may end one park bound late");
  to_.bell->restore_canary();
}

void client_sockets::carry(effect::close& e) {
  const auto at = clients_.find(e.whom);
  if (at == clients_.end()) return;
  if (at->second.by_ring) {
    to_.waits->let_go(e.whom);
  } else {
    at->second.link->send_unsent();
    at->second.socket.release();
    at->second.link->close();
  }
  for (const questions::ticket which : at->second.asked) {
    to_.asked->forget(at->second.uid, which);
  }
  // Its ring is looked at no more: that was handed over before this.
  if (const auto& ring = at->second.link->ring()) free_flags_.push_back(ring->flag);
  to_.node->with([&](node&) { clients_.erase(at); });
}

void client_sockets::carry(effect::start_wait& e) {
  const auto at = clients_.find(e.what.session);
  if (at != clients_.end()) to_.waits->start(e.what, at->second.link);
}

void client_sockets::carry(effect::cancel_wait& e) {
  to_.waits->cancel(e.which);
}

void client_sockets::carry(effect::answer_probe& e) {
  const size_t most = to_.node->with([&](node& n) { return n.streams_of(e.what.session); });
  to_.waits->answer(e.what, most);
}

void client_sockets::carry(effect::drop_waits& e) {
  to_.waits->drop(e.of);
}

void client_sockets::carry(effect::look& e) {
  to_.waits->look(e.at);
}

void client_sockets::carry(effect::log& e) {
  log_about(e.uid,
            e.how == effect::log::level::warning ? log_level::warning
            : e.how == effect::log::level::info  ? log_level::info
                                                 : log_level::debug,
            e.text);
}

void client_sockets::log_about(uint32_t uid, log_level level, const std::string& text) {
  if (!logs(level)) return;
  const instant now = clock_.now();
  std::erase_if(paces_, [now](const auto& each) { return each.second.at_rest(now); });
  const std::optional<uint64_t> left_out = paces_[uid].allow(now);
  if (!left_out) return;
  if (*left_out > 0) {
    log(log_level::warning, fmt::format("{} lines about uid {} were left out", *left_out, uid));
  }
  log(level, text);
}

void client_sockets::set_timer() {
  const instant next = to_.node->with([](node& n) { return n.next_deadline(); });
  if (next == timer_at_) return;
  timer_at_ = next;
  if (next == instant::never()) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next.ns)));
  timer_.async_wait([this](const boost::system::error_code& failed) {
    if (failed) return;
    timer_at_ = instant::never();
    to_.node->with([this](node& n) { n.tick(clock_.now()); });
    carry_out();
  });
}

}  // namespace gar
