// Handles: what stands behind the C interface's opaque pointers, and how what comes through it is
// checked before anything is done.
//
// Invariants: every pointer, size, name and flag is checked here once. A client that was opened by
// the parent of this process is refused and nothing of it is touched.
// Threads: as gar.h says. Errors: InvalidArgument, ForkedChild.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "clients/garclient/client.hpp"
#include "clients/garclient/gar.h"
#include "lib/core/error.hpp"

struct gar_client {
  std::unique_ptr<gar::owner::client> own;
  std::mutex lock;
  std::set<gar_stream*> streams;  // open ones; closing the client frees what is left
};

struct gar_stream {
  gar_client* client;
  std::shared_ptr<gar::owner::stream> own;
  // What the library made for the device's side of the stream; goes last.
  std::shared_ptr<void> device_side;
};

namespace gar::owner {

error invalid(const char* argument, std::string why);

result<client*> checked(const gar_client* c);
result<client*> checked(const gar_stream* s);
result<void> not_null(const void* pointer, const char* argument);

// NULL or "" is none.
result<std::string> optional_name(const char* text, const char* argument);

result<void> check_struct(const void* given, size_t ours_bytes, const char* argument);

// A caller's struct in our size: what it does not have is 0, what we do not know must be.
template <class S>
result<S> read_struct(const S* given, const char* argument) {
  S copy{};
  copy.struct_bytes = sizeof(S);
  if (!given) return copy;
  result<void> fits = check_struct(given, sizeof(S), argument);
  if (!fits) return fits.error();
  std::memcpy(&copy, given, sizeof(S));
  copy.struct_bytes = sizeof(S);
  return copy;
}

// Opens a stream on a device and makes its handle.
result<void> open_handle(gar_client* c, std::optional<device_stream> device,
                         const gar_stream_options* options, std::shared_ptr<void> device_side,
                         gar_stream** opened);
// Takes a stream's handle out of its client's list; the caller frees it.
std::unique_ptr<gar_stream> take_handle(gar_stream* s);
// Closes the stream and frees its handle.
result<void> close_handle(std::unique_ptr<gar_stream> s);

// A copy of the operations, every verb that must be there being there.
result<std::shared_ptr<const gar_device_ops>> read_ops(const gar_device_ops* ops);

}  // namespace gar::owner
