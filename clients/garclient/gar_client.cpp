// The C interface: version, errors, clients.
#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"
#include "clients/garclient/wait_environment.hpp"
#include "lib/core/utf8.hpp"

using namespace gar;
using namespace gar::owner;

namespace {

constexpr uint64_t look_us_max = 1'000'000;

std::string own_name() {
  const std::string name = clean_text(program_invocation_short_name, proto::name_bytes_max);
  return name.empty() ? "client" : name;
}

// Of the options, else of $GAR_LOOK_US.
result<duration> look_of(const gar_client_options& o) {
  const auto checked_us = [](const char* argument, uint64_t us) -> result<duration> {
    if (us > look_us_max) return invalid(argument, "is more than " + std::to_string(look_us_max));
    return from_us(us);
  };
  if (o.flags & GAR_CLIENT_LOOK) return checked_us("options->look_us", o.look_us);
  if (o.look_us != 0) return invalid("options->look_us", "is not 0 without GAR_CLIENT_LOOK");
  const char* const text = ::secure_getenv("GAR_LOOK_US");
  if (!text || !*text) return client::look_default;
  const char* const end = text + std::strlen(text);
  uint64_t us = 0;
  const auto [stopped, fault] = std::from_chars(text, end, us);
  if (fault != std::errc{} || stopped != end) return invalid("GAR_LOOK_US", "is not a number");
  return checked_us("GAR_LOOK_US", us);
}

result<client::options> read_options(const gar_client_options* given) {
  const result<gar_client_options> o = read_struct(given, "options");
  if (!o) return o.error();
  constexpr uint32_t ways = GAR_CLIENT_IN_PROCESS | GAR_CLIENT_NEED_DAEMON;
  constexpr uint32_t known = ways | GAR_CLIENT_LOOK;
  if (o->flags & ~known) return invalid("options->flags", "has bits that mean nothing");
  if ((o->flags & ways) == ways) {
    return invalid("options->flags", "asks for in-process and for a daemon at once");
  }
  const result<duration> look = look_of(*o);
  if (!look) return look.error();
  const result<std::string> name = optional_name(o->name, "options->name");
  if (!name) return name.error();
  const result<software_wait> looking = software_wait_of_environment();
  if (!looking) return looking.error();
  client::options asked;
  asked.name = name->empty() ? own_name() : *name;
  if (o->socket_path) asked.socket_path = o->socket_path;
  if (const char* plan = ::secure_getenv("GAR_PLAN")) asked.plan_text = plan;
  asked.look = *look;
  asked.in_process = o->flags & GAR_CLIENT_IN_PROCESS;
  asked.need_daemon = o->flags & GAR_CLIENT_NEED_DAEMON;
  return asked;
}

const error_entry* entry_of(int number) {
  if (number < 0 || number > UINT16_MAX) return nullptr;
  return find_error(static_cast<uint16_t>(number));
}

}  // namespace

extern "C" {

const char* gar_version(void) {
  return GAR_VERSION;
}

const char* gar_error_name(int number) {
  const error_entry* e = entry_of(number);
  return e ? e->name.data() : "Unknown";  // the registry's texts are literals
}

const char* gar_error_text(int number) {
  const error_entry* e = entry_of(number);
  return e ? e->summary.data() : "an error number that this version does not know";
}

int gar_last_error(char* text, size_t capacity_bytes) {
  const last_error& here = last_error_here();
  std::string_view said = here.text;
  if (here.number != 0 && said.empty()) said = gar_error_text(here.number);
  copy_text(said, text, capacity_bytes);
  return here.number;
}

int gar_connect(const gar_client_options* options, gar_client** opened) {
  return entry([&]() -> result<void> {
    result<void> out = not_null(opened, "client");
    if (!out) return out;
    const result<client::options> o = read_options(options);
    if (!o) return o.error();
    auto handle = std::make_unique<gar_client>();
    result<std::unique_ptr<client>> made = client::connect(*o);
    if (!made) return made.error();
    handle->own = std::move(*made);
    *opened = handle.release();
    return {};
  });
}

int gar_close(gar_client* c) {
  if (!c) return 0;
  return entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) {
      // A forked child: threads and locks are the parent's; all that can be given back is the
      // descriptor that would keep the parent's connection open.
      c->own->abandon();
      return own.error();
    }
    result<void> closed;
    while (!c->streams.empty()) {
      result<void> one = close_handle(take_handle(*c->streams.begin()));
      if (!one) closed = one;
    }
    (*own)->close();
    delete c;
    return closed;
  });
}

int gar_mode(const gar_client* c) {
  bool with_gard = false;
  entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    with_gard = (*own)->with_gard();
    return {};
  });
  return with_gard ? GAR_MODE_DAEMON : GAR_MODE_IN_PROCESS;
}

int gar_rows(gar_client* c, uint32_t rows) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    (*own)->publish_rows(rows);
    return {};
  });
}

int gar_client_counters(const gar_client* c, gar_counters* counters) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(c);
    if (!own) return own.error();
    result<void> out = not_null(counters, "counters");
    if (!out) return out;
    constexpr size_t least = offsetof(gar_counters, waits);
    const size_t bytes = counters->struct_bytes;
    if (bytes < least) return invalid("counters", "struct_bytes must be set to its size");
    const gar_counters now = (*own)->counters();
    std::memcpy(counters, &now, std::min(bytes, sizeof(now)));
    counters->struct_bytes = bytes;
    return {};
  });
}

}  // extern "C"
