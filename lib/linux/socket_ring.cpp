#include "lib/linux/socket_ring.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "lib/linux/steady_clock.hpp"
#include "lib/linux/system_call.hpp"

namespace gar {
namespace {

constexpr uint16_t buffer_group = 0;
constexpr size_t page_bytes = 4096;  // as the kernel wants the entries aligned, or more
static_assert((socket_ring::buffers & (socket_ring::buffers - 1)) == 0);

// How long a step of the trial may take on a machine that is busy.
constexpr duration trial_patience = from_ms(1000);

std::byte* allocate_pages(size_t bytes) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t align = page > page_bytes ? page : page_bytes;
  return static_cast<std::byte*>(std::aligned_alloc(align, (bytes + align - 1) / align * align));
}

void point_at(msghdr& header, iovec& part) {
  header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
}

}  // namespace

result<socket_ring> socket_ring::make(deadline_ring& ring) {
  constexpr size_t entries_bytes = buffers * sizeof(io_uring_buf);
  memory entries(allocate_pages(entries_bytes));
  memory frames(allocate_pages(buffers * proto::frame_bytes_max));
  if (!entries || !frames) return system_error("aligned_alloc", ENOMEM);
  std::memset(entries.get(), 0, entries_bytes);
  io_uring_buf_reg about{};
  about.ring_addr = reinterpret_cast<uint64_t>(entries.get());
  about.ring_entries = buffers;
  about.bgid = buffer_group;
  const int refused = ::io_uring_register_buf_ring(ring.handle(), &about, 0);
  if (refused < 0) return system_error("IORING_REGISTER_PBUF_RING", -refused);
  socket_ring made(std::move(entries), std::move(frames));
  for (uint16_t i = 0; i < buffers; ++i) made.add(i);
  return made;
}

void socket_ring::add(uint16_t number) {
  ::io_uring_buf_ring_add(entries(), frame(number), proto::frame_bytes_max, number,
                          ::io_uring_buf_ring_mask(buffers), 0);
  ::io_uring_buf_ring_advance(entries(), 1);
}

bool socket_ring::receive(deadline_ring& ring, int fd, incoming& in, uint64_t what) {
  io_uring_sqe* entry = ring.prepare(what);
  if (!entry) return false;
  in.part = {nullptr, proto::frame_bytes_max};
  point_at(in.header, in.part);
  in.header.msg_control = in.control.data();
  in.header.msg_controllen = in.control.size();
  ::io_uring_prep_recvmsg(entry, fd, &in.header, MSG_CMSG_CLOEXEC);
  entry->flags |= IOSQE_BUFFER_SELECT;
  entry->buf_group = buffer_group;
  return true;
}

bool socket_ring::send(deadline_ring& ring, int fd, std::span<const std::byte> frame,
                       std::span<const int> descriptors, outgoing& out, uint64_t what) {
  GAR_ASSERT(descriptors.size() <= descriptors_max);
  io_uring_sqe* entry = ring.prepare(what);
  if (!entry) return false;
  out.part = {const_cast<std::byte*>(frame.data()), frame.size()};
  point_at(out.header, out.part);
  if (!descriptors.empty()) put_descriptors(out.header, out.control, descriptors);
  ::io_uring_prep_sendmsg(entry, fd, &out.header, MSG_NOSIGNAL);
  return true;
}

std::span<const std::byte> socket_ring::buffer_of(const deadline_ring::ended_request& e) const {
  const auto number = static_cast<uint16_t>(e.flags >> IORING_CQE_BUFFER_SHIFT);
  GAR_ASSERT(has_buffer(e) && number < buffers);
  return {frame(number), proto::frame_bytes_max};
}

void socket_ring::give_back(const deadline_ring::ended_request& e) {
  if (has_buffer(e)) add(static_cast<uint16_t>(e.flags >> IORING_CQE_BUFFER_SHIFT));
}

const char* socket_ring::failing_step(deadline_ring& ring) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return "could not be tried: no socket was left";
  }
  const unique_fd here(ends[0]);
  const unique_fd there(ends[1]);
  const auto next = [&ring]() -> std::optional<deadline_ring::ended_request> {
    ring.submit();
    const instant until = steady_clock().now() + trial_patience;
    while (ring.ended().empty() && !ring.failed() && steady_clock().now() < until) {
      ring.sleep(until);
    }
    if (ring.ended().empty()) return std::nullopt;
    const deadline_ring::ended_request e = ring.ended().front();
    ring.ended().erase(ring.ended().begin());
    return e;
  };
  const auto is = [](const auto& e, uint64_t what, int got) {
    return e && e->what == what && e->got == got;
  };
  enum : uint64_t { received = 1, sent, cancelled };
  const std::byte frame[3] = {};
  // Left to the kernel where it may still write there.
  auto kept = std::make_unique<incoming>();
  incoming& in = *kept.release();
  // Where nothing waits it must wait, though the socket is non-blocking.
  receive(ring, here.get(), in, received);
  outgoing out;
  ring.submit();
  send(ring, there.get(), frame, {}, out, sent);
  if (!is(next(), sent, sizeof(frame))) return "does not send, or does not wait for a message";
  const auto came = next();
  if (!is(came, received, sizeof(frame)) || !has_buffer(*came)) return "does not receive";
  give_back(*came);
  receive(ring, here.get(), in, received);
  ring.submit();
  ring.prepare_cancel(received, cancelled);
  // In either order.
  const auto first = next();
  const auto second = next();
  const bool ended = is(first, received, -ECANCELED) || is(second, received, -ECANCELED);
  if (!ended) return "does not let a receive be cancelled";
  kept.reset(&in);
  return nullptr;
}

}  // namespace gar
