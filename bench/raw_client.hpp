// A client made of nothing but the protocol: it writes frames and reads its own socket, as a client
// in another language would.
//
// Its streams' words are their own authority, so that whoever stores completes. Waits are named by
// cookies of the caller's choosing.
//
// Threads: one. Blocking: opening; sending while gard does not read; `receive` as told.
// Ownership: the socket and pages go with the object. Errors: cannot_measure.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/producer.hpp"
#include "lib/core/codec.hpp"
#include "lib/linux/doorbell.hpp"
#include "lib/linux/lines_page.hpp"
#include "lib/linux/ring_client.hpp"
#include "lib/linux/state_page.hpp"
#include "lib/linux/unix_socket.hpp"

namespace gar::bench {

class raw_client {
 public:
  enum class patience : uint8_t { blocks, looks };  // to receive: until something came, or at once

  // With `features` (proto::feature_*) gard may give it a ring, for raw_ring to use.
  raw_client(const std::string& socket, const std::string& name, uint32_t features = 0);
  raw_client(raw_client&&) = default;

  // Opens so many streams more.
  void open(size_t count);
  size_t streams() const { return streams_.size(); }
  uint64_t base_of(size_t stream) const { return streams_[stream].opened.base; }

  // What completes `target` of a stream.
  store_order store_of(size_t stream, uint64_t target) const;
  // The same, done here: word, doorbell, and a wake where the reactor sleeps.
  void store(size_t stream, uint64_t target) const;

  proto::wait wait_for(size_t stream, uint64_t target, uint64_t cookie) const;
  // As few messages as it takes.
  void send(std::span<const proto::wait> waits);
  // Cookies of waits that ended, in order; valid until the next call. Nothing: none came (looks).
  std::span<const uint64_t> receive(patience how);

 protected:
  std::optional<ring_client> ring_;
  uint32_t request_flag() const { return welcome_.request_flag; }
  // What makes gard look at this client's requests, wherever it is.
  void ring_for_requests(uint64_t changing) const;
  std::byte* doorbell_page() const { return static_cast<std::byte*>(bell_->data()); }

 private:
  struct stream {
    proto::opened opened;
    uint64_t* word = nullptr;
  };
  void greet(const std::string& name, uint32_t features);
  proto::message next_message();
  void take_pages(const proto::message& m, reception& with);
  void send_frame(const proto::message& m) const;

  unique_fd fd_;
  proto::welcome welcome_;
  uint64_t plan_generation_ = 0;
  std::vector<lines_page> pages_;
  std::optional<doorbell> bell_;
  std::optional<state_page_view> state_;
  std::vector<stream> streams_;
  std::vector<uint64_t> cookies_;
  std::array<std::byte, proto::frame_bytes_max> frame_;
};

}  // namespace gar::bench
