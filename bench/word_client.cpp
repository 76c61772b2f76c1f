#include "bench/word_client.hpp"

#include <array>

#include "lib/core/descriptor.hpp"
#include "proto/pages.hpp"

namespace gar::bench {
namespace {

uint64_t* address_of(const gar_device_store& store) {
  return reinterpret_cast<uint64_t*>(static_cast<char*>(store.page->host) + store.offset_bytes);
}

}  // namespace

void throw_failure(int error, const char* call) {
  std::array<char, 512> text{};
  gar_last_error(text.data(), text.size());
  throw cannot_measure(std::string(call) + ": " + gar_error_name(error) + ": " + text.data());
}

const gar_device_ops& word_client::ops() {
  static const gar_device_ops verbs = [] {
    gar_device_ops v{};
    v.struct_bytes = sizeof(v);
    v.name = "bench";
    v.map = [](void*, void*, size_t, void** mapping, gar_device_failure*) {
      *mapping = nullptr;
      return 0;
    };
    v.unmap = [](void*, void*) { return 0; };
    v.arm = [](void* stream, uint64_t, const gar_device_store* word, const gar_device_store* bell,
               gar_device_failure*) {
      auto& s = *static_cast<word_stream*>(stream);
      s.word = address_of(*word);
      s.bell = bell ? address_of(*bell) : nullptr;
      return 0;
    };
    v.query = [](void* stream, uint64_t sequence, gar_device_failure*) {
      const auto& s = *static_cast<word_stream*>(stream);
      return reached(proto::load_word(*s.word), sequence) ? GAR_DONE : GAR_PENDING;
    };
    v.settle = [](void*, gar_device_failure*) { return 0; };
    return v;
  }();
  return verbs;
}

word_client::word_client(const std::string& socket, const std::string& name, size_t streams,
                         std::optional<uint32_t> look_us) {
  gar_client_options options{};
  options.struct_bytes = sizeof(options);
  options.socket_path = socket.c_str();
  options.name = name.c_str();
  options.flags = GAR_CLIENT_NEED_DAEMON | (look_us ? GAR_CLIENT_LOOK : 0);
  options.look_us = look_us.value_or(0);
  must_be_ok(gar_connect(&options, &client_), "gar_connect");
  try {
    for (size_t i = 0; i < streams; ++i) {
      auto opened = std::make_unique<word_stream>();
      must_be_ok(gar_stream_open(client_, &ops(), this, opened.get(), nullptr, &opened->handle),
                 "gar_stream_open");
      streams_.push_back(std::move(opened));
    }
  } catch (...) {
    close();
    throw;
  }
}

word_client::~word_client() {
  close();
}

void word_client::close() {
  for (const auto& each : streams_) gar_stream_close(each->handle);
  gar_close(client_);
}

store_order word_client::record(size_t index) {
  const word_stream& on = *streams_[index];
  store_order o;
  must_be_ok(gar_record(on.handle, &o.value), "gar_record");
  o.word = on.word;
  o.bell = on.bell;
  o.bell_value = proto::bell_value(index, static_cast<uint32_t>(index), o.value);
  return o;
}

uint64_t word_client::delegated() const {
  gar_counters counters{};
  counters.struct_bytes = sizeof(counters);
  must_be_ok(gar_client_counters(client_, &counters), "gar_client_counters");
  return counters.delegated;
}

}  // namespace gar::bench
