#include "clients/garclient/handles.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "clients/garclient/kept.hpp"
#include "lib/core/codec.hpp"

namespace gar::owner {

error invalid(const char* argument, std::string why) {
  return error(errc::InvalidArgument, {argument, std::move(why)});
}

result<void> not_null(const void* pointer, const char* argument) {
  if (pointer) return {};
  return invalid(argument, "is NULL");
}

result<client*> checked(const gar_client* c) {
  if (!c) return invalid("client", "is NULL");
  if (c->own->pid() != ::getpid()) {
    return error(errc::ForkedChild, {std::to_string(c->own->pid())});
  }
  return c->own.get();
}

result<client*> checked(const gar_stream* s) {
  if (!s) return invalid("stream", "is NULL");
  return checked(s->client);
}

result<std::string> optional_name(const char* text, const char* argument) {
  if (!text || !*text) return std::string();
  const size_t bytes = strnlen(text, proto::name_bytes_max + 1);
  std::string name(text, bytes);
  if (proto::valid_name(name)) return name;
  return invalid(argument, "expected 1 to 63 bytes of UTF-8 without control characters");
}

result<void> check_struct(const void* given, size_t ours_bytes, const char* argument) {
  size_t bytes = 0;
  std::memcpy(&bytes, given, sizeof(bytes));
  if (bytes < ours_bytes) {
    return invalid(argument, "struct_bytes is " + std::to_string(bytes) + ", expected at least " +
                                 std::to_string(ours_bytes));
  }
  constexpr size_t sane_bytes_max = 4096;
  if (bytes > sane_bytes_max) {
    return invalid(argument, "struct_bytes is " + std::to_string(bytes) + ", which no version has");
  }
  const auto* rest = static_cast<const unsigned char*>(given) + ours_bytes;
  if (std::all_of(rest, rest + (bytes - ours_bytes), [](unsigned char b) { return b == 0; })) {
    return {};
  }
  return invalid(argument, "sets fields that this version of the library does not know");
}

result<std::shared_ptr<const gar_device_ops>> read_ops(const gar_device_ops* ops) {
  if (!ops) return invalid("ops", "is NULL");
  const result<gar_device_ops> copy = read_struct(ops, "ops");
  if (!copy) return copy.error();
  if (!copy->name || !*copy->name || strnlen(copy->name, 16) > 15) {
    return invalid("ops->name", "expected 1 to 15 bytes");
  }
  const std::pair<bool, const char*> needed[] = {
      {copy->map != nullptr, "ops->map"},       {copy->unmap != nullptr, "ops->unmap"},
      {copy->arm != nullptr, "ops->arm"},       {copy->query != nullptr, "ops->query"},
      {copy->settle != nullptr, "ops->settle"},
  };
  for (const auto& [there, what] : needed) {
    if (!there) return invalid(what, "is NULL");
  }
  return std::make_shared<const gar_device_ops>(*copy);
}

result<void> open_handle(gar_client* c, std::optional<device_stream> device,
                         const gar_stream_options* options, std::shared_ptr<void> device_side,
                         gar_stream** opened) {
  const result<client*> of = checked(c);
  if (!of) return of.error();
  result<void> out = not_null(opened, "opened");
  if (!out) return out;
  const result<gar_stream_options> o = read_struct(options, "options");
  if (!o) return o.error();
  const result<std::string> name = optional_name(o->name, "options->name");
  if (!name) return name.error();
  auto handle = std::make_unique<gar_stream>();
  result<std::shared_ptr<stream>> s = (*of)->open_stream(std::move(device), *name);
  if (!s) return s.error();
  handle->client = c;
  handle->own = std::move(*s);
  handle->device_side = std::move(device_side);
  try {
    std::lock_guard lock(c->lock);
    c->streams.insert(handle.get());
  } catch (...) {
    (void)close_handle(std::move(handle));
    throw;
  }
  *opened = handle.release();
  return {};
}

std::unique_ptr<gar_stream> take_handle(gar_stream* s) {
  std::lock_guard lock(s->client->lock);
  s->client->streams.erase(s);
  return std::unique_ptr<gar_stream>(s);
}

result<void> close_handle(std::unique_ptr<gar_stream> s) {
  result<void> closed = s->client->own->close_stream(s->own);
  // A device side that did not settle must not go either.
  if (!closed) keep_for_ever(std::move(s->device_side));
  return closed;
}

}  // namespace gar::owner
