// A client of the library whose streams are words that another process stores to.
//
// Everything goes through the public interface: the streams are of a device of our own, whose
// `arm` notes where word and doorbell lie and whose authority is the word itself, so that a query
// costs a load. What the device would store, the producer does.
//
// Threads: as gar.h says. Ownership: streams and client end with the object.
// Errors: cannot_measure, with the library's own text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/producer.hpp"
#include "clients/garclient/gar.h"

namespace gar::bench {

// `error` as a gar_* call answered it. What stands behind a wait that is timed must be next to
// nothing: the check is here, the rest elsewhere.
[[noreturn]] void throw_failure(int error, const char* call);
inline void must_be_ok(int error, const char* call) {
  if (error != 0) throw_failure(error, call);
}

class word_client {
 public:
  // `look_us`: how long its waits look before they block; none: as shipped.
  word_client(const std::string& socket, const std::string& name, size_t streams,
              std::optional<uint32_t> look_us = std::nullopt);
  ~word_client();
  word_client(const word_client&) = delete;
  word_client& operator=(const word_client&) = delete;

  gar_client* client() const { return client_; }
  gar_stream* stream(size_t index = 0) const { return streams_[index]->handle; }
  size_t streams() const { return streams_.size(); }
  // Records on a stream; what the producer is to do for it, but for when.
  store_order record(size_t index = 0);
  uint64_t delegated() const;

 private:
  struct word_stream {
    gar_stream* handle = nullptr;
    uint64_t* word = nullptr;
    uint64_t* bell = nullptr;
  };
  static const gar_device_ops& ops();
  void close();

  gar_client* client_ = nullptr;
  std::vector<std::unique_ptr<word_stream>> streams_;
};

}  // namespace gar::bench
