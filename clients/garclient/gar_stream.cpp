// The C interface: streams and records.
#include <utility>

#include "clients/garclient/handles.hpp"
#include "clients/garclient/last_error.hpp"

using namespace gar;
using namespace gar::owner;

extern "C" {

int gar_stream_open(gar_client* c, const gar_device_ops* ops, void* device, void* stream_of_device,
                    const gar_stream_options* options, gar_stream** opened) {
  return entry([&]() -> result<void> {
    const result<std::shared_ptr<const gar_device_ops>> verbs = read_ops(ops);
    if (!verbs) return verbs.error();
    return open_handle(c, device_stream(*verbs, device, stream_of_device), options, nullptr,
                       opened);
  });
}

int gar_word_stream_open(gar_client* c, const gar_stream_options* options, gar_stream** opened) {
  return entry([&] { return open_handle(c, std::nullopt, options, nullptr, opened); });
}

int gar_signal(gar_stream* s, uint64_t sequence) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(s);
    if (!own) return own.error();
    return s->own->signal(sequence);
  });
}

int gar_stream_close(gar_stream* s) {
  if (!s) return 0;
  return entry([&]() -> result<void> {
    const result<client*> own = checked(s);
    if (!own) return own.error();
    return close_handle(take_handle(s));
  });
}

int gar_stream_warning(const gar_stream* s, char* text, size_t capacity_bytes) {
  if (text && capacity_bytes > 0) *text = '\0';
  int number = 0;
  const int failed = entry([&]() -> result<void> {
    const result<client*> own = checked(s);
    if (!own) return own.error();
    const std::optional<error> warning = (*own)->warning_of(*s->own);
    if (!warning) return {};
    number = warning->number();
    copy_text(warning->text(), text, capacity_bytes);
    return {};
  });
  return failed ? failed : number;
}

int gar_record(gar_stream* s, uint64_t* sequence) {
  return entry([&]() -> result<void> {
    const result<client*> own = checked(s);
    if (!own) return own.error();
    result<void> out = not_null(sequence, "sequence");
    if (!out) return out;
    const result<uint64_t> recorded = (*own)->record(s->own);
    if (!recorded) return recorded.error();
    *sequence = *recorded;
    return {};
  });
}

}  // extern "C"
