// Unix sockets: whole messages with descriptors, between processes of one machine.
//
// SOCK_SEQPACKET keeps messages whole: one send is one receive. Descriptors travel with a message
// and arrive closed-on-exec. Every socket made here is non-blocking and closed on exec.
//
//   path   absent -> bound -> listening (live) -> its process gone (stale) -> bound again
//
// Invariants: whatever a peer sends, no descriptor leaks: those beyond `descriptors_max`, and those
// of a message that is refused, are closed before the call returns. A path is bound, given its mode
// and group, and only then listened on: nobody connects before. Of two processes that find the same
// stale socket one gets the path.
// Threads: any; one receiver and one sender per socket. Blocking: connect_to, up to its deadline;
// nothing else. Allocation: errors only.
// Errors: SystemCall, with errno as os_number, unless said otherwise; interrupted calls go on.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "lib/core/error.hpp"
#include "lib/core/time.hpp"
#include "lib/linux/unique_fd.hpp"

namespace gar {

enum class socket_type : uint8_t { seqpacket, stream };

inline constexpr size_t descriptors_max = 5;  // with one message

struct listen_options {
  socket_type type = socket_type::seqpacket;
  mode_t mode = 0600;
  std::optional<gid_t> group = {};  // none: the process's own
  int backlog = 128;
};

// Replaces a stale socket at `path`; blocks for at most a second while another process does.
// AlreadyRunning{path} when somebody answers there, or took that second; InvalidArgument when the
// path is too long, or is something else than a socket. Beside the path lies `path`.lock while and
// after it is bound.
result<unique_fd> listen_at(const std::string& path, const listen_options& options);

// Makes a listener that another process made (the service manager) as if listen_at had made it:
// non-blocking and closed on exec. Answers its path. InvalidArgument where it is none of that type.
result<std::string> adopt_listener(int fd, socket_type type);

enum class socket_file : uint8_t { absent, stale, live };

// Connects to see. InvalidArgument when there is something else than a socket.
result<socket_file> look_at_socket(const std::string& path);

// SystemCall{"connect PATH", ...}: ECONNREFUSED is a stale socket, ENOENT none, EAGAIN a listener
// that took nobody until the deadline.
result<unique_fd> connect_to(const std::string& path, socket_type type, instant deadline);

// Nothing where nobody waits to be accepted, or gave up before.
result<std::optional<unique_fd>> accept_from(int listener);

// true: sent whole. false: the peer's buffer is full; try again when the socket is writable. At
// most descriptors_max descriptors, which stay the caller's.
result<bool> send_message(int fd, std::span<const std::byte> message,
                          std::span<const int> descriptors = {});

struct reception {
  enum class what : uint8_t {
    message,
    nothing,  // no message waits
    ended,    // the peer has closed
  };
  what got = what::nothing;
  size_t bytes = 0;
  size_t descriptor_count = 0;
  std::array<unique_fd, descriptors_max> descriptors;
};

// One message into `into`. An empty message reads as the peer's end (the kernel shows no
// difference); both end a connection. MalformedMessage when the message is longer than `into`, or
// empty with descriptors. UnexpectedDescriptors when more than descriptors_max came, or when this
// process has no room for them.
result<reception> receive_message(int fd, std::span<std::byte> into);

// Room for the descriptors of any message of ours, and for one too many, so that it is seen.
inline constexpr size_t control_bytes = CMSG_SPACE(descriptors_max * sizeof(int));

// What a recvmsg with control_bytes of room for descriptors brought, for who made the call by other
// means than receive_message; `into_bytes` was its room. The same errors.
result<reception> judge_reception(msghdr& header, size_t bytes, size_t into_bytes);
// Makes `header` carry them, by way of `control`, which has control_bytes.
void put_descriptors(msghdr& header, std::span<std::byte> control,
                     std::span<const int> descriptors);

// Ends both directions and empties what was received: a socket closed with unread messages makes
// its peer read ECONNRESET instead of what it was sent last. The descriptor stays the caller's.
void end_connection(int fd);

struct peer_identity {
  pid_t pid = 0;  // 0: the peer is in a namespace that this process cannot see
  uid_t uid = 0;
  gid_t gid = 0;
};

result<peer_identity> peer_of(int fd);

// A descriptor that becomes readable when the peer's process is gone. Unavailable{..} where the
// kernel has none for this peer.
result<unique_fd> peer_pidfd(int fd);

}  // namespace gar
