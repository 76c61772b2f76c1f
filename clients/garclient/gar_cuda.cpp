// The C interface: a program's own CUDA and HIP streams.
#include <fcntl.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"
#include "lib/core/utf8.hpp"
#include "lib/gpu/gpu_cuda.hpp"
#include "lib/gpu/gpu_hip.hpp"
#include "lib/linux/lines_page.hpp"

using namespace gar;
using namespace gar::owner;

namespace {

// What a device's stores are tried with: a page of words, written through one mapping and read
// through another, as gard reads them.
result<scratch_page> make_scratch() {
  struct mappings {
    lines_page reader, writer;
  };
  result<lines_page> reader = lines_page::make();
  if (!reader) return reader.error();
  unique_fd shared(::fcntl(reader->fd(), F_DUPFD_CLOEXEC, 0));
  result<lines_page> writer = lines_page::receive(std::move(shared), reader->bytes());
  if (!writer) return writer.error();
  const auto memory = std::make_shared<mappings>(mappings{std::move(*reader), std::move(*writer)});
  return scratch_page{memory, memory->writer.data(), &memory->reader.word(0),
                      memory->writer.bytes()};
}

using open_event_stream = result<std::unique_ptr<event_stream>>(void*, make_scratch_page*);

int open(gar_client* c, open_event_stream* open_side, const gar_device_ops* verbs, void* handle,
         const gar_stream_options* options, gar_stream** opened) {
  return entry([&]() -> result<void> {
    const result<client*> of = checked(c);
    if (!of) return of.error();
    result<std::unique_ptr<event_stream>> made = open_side(handle, make_scratch);
    if (!made) return made.error();
    const std::shared_ptr<event_stream> side = std::move(*made);
    const auto ops = std::make_shared<const gar_device_ops>(*verbs);
    return open_handle(c, device_stream(ops, side->device_key(), side.get(), side->stores().why),
                       options, side, opened);
  });
}

int open_driver_stream(open_event_stream* open_side, const gar_device_ops* verbs, void* handle,
                       gar_driver_stream* opened) {
  return entry([&]() -> result<void> {
    result<void> given = not_null(opened, "opened");
    if (!given) return given.error();
    result<void> fits = check_struct(opened, sizeof(*opened), "opened");
    if (!fits) return fits.error();
    result<std::unique_ptr<event_stream>> side = open_side(handle, make_scratch);
    if (!side) return side.error();
    const std::string_view why = utf8_prefix((*side)->stores().why, sizeof(opened->no_stores) - 1);
    opened->ops = verbs;
    opened->device = (*side)->device_key();
    std::memset(opened->no_stores, 0, sizeof(opened->no_stores));
    std::memcpy(opened->no_stores, why.data(), why.size());
    opened->stream = side->release();
    return {};
  });
}

}  // namespace

extern "C" {

int gar_cuda_stream_open(gar_client* c, void* stream_of_cuda, const gar_stream_options* options,
                         gar_stream** opened) {
  return open(c, open_cuda_stream, cuda_ops(), stream_of_cuda, options, opened);
}

int gar_hip_stream_open(gar_client* c, void* stream_of_hip, const gar_stream_options* options,
                        gar_stream** opened) {
  return open(c, open_hip_stream, hip_ops(), stream_of_hip, options, opened);
}

int gar_cuda_driver_stream_open(void* stream_of_cuda, gar_driver_stream* opened) {
  return open_driver_stream(open_cuda_stream, cuda_ops(), stream_of_cuda, opened);
}

int gar_hip_driver_stream_open(void* stream_of_hip, gar_driver_stream* opened) {
  return open_driver_stream(open_hip_stream, hip_ops(), stream_of_hip, opened);
}

void gar_driver_stream_close(gar_driver_stream* opened) {
  if (!opened) return;
  const std::unique_ptr<event_stream> ends(
      static_cast<event_stream*>(std::exchange(opened->stream, nullptr)));
}

}  // extern "C"
