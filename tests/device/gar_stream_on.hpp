// gard's client and streams on the card, closed when they go.
//
// Threads and errors as gar.h says; a call that fails throws broken.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/device/broken.hpp"

namespace gar::device_check {

struct client_closer {
  void operator()(gar_client* client) const { gar_close(client); }
};
using owned_client = std::unique_ptr<gar_client, client_closer>;

struct stream_closer {
  void operator()(gar_stream* stream) const { gar_stream_close(stream); }
};
using owned_stream = std::unique_ptr<gar_stream, stream_closer>;

// With an empty socket: in-process, under `plan`.
inline owned_client connect(const std::string& name, const std::string& socket,
                            const std::string& plan) {
  ::setenv("GAR_PLAN", plan.c_str(), 1);
  gar_client_options wanted{};
  wanted.struct_bytes = sizeof(wanted);
  wanted.name = name.c_str();
  wanted.socket_path = socket.empty() ? nullptr : socket.c_str();
  wanted.flags = socket.empty() ? GAR_CLIENT_IN_PROCESS : GAR_CLIENT_NEED_DAEMON;
  gar_client* client = nullptr;
  need(gar_connect(&wanted, &client), "gar_connect");
  return owned_client(client);
}

inline owned_stream open_stream(gar_client* client, void* stream) {
  gar_stream* opened = nullptr;
  need(gar_cuda_stream_open(client, stream, nullptr, &opened), "gar_cuda_stream_open");
  return owned_stream(opened);
}

}  // namespace gar::device_check
