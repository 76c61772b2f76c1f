// What the card is and whether gard can use it.
#include "tests/device/gar_stream_on.hpp"
#include "tests/device/part.hpp"
#include "tests/device/way.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;

// One stream opened, waited for and closed again.
json::object try_gar(const card& on) {
  json::object saw;
  const cuda::stream stream = on.make_stream(on.primary());
  {
    const owned_client client =
        connect(gar_client_name("flag"), {}, "flag:park_us=100,backstop_us=10000");
    const owned_stream opened = open_stream(client.get(), stream);
    char why[512] = {};
    saw["stores"] = gar_stream_warning(opened.get(), why, sizeof(why)) == 0;
    saw["stores_why"] = why;
    on.submit(on.primary(), stream, 1000, 0, 1);
    uint64_t sequence = 0;
    need(gar_record(opened.get(), &sequence), "gar_record");
    need(gar_wait(opened.get(), sequence, nullptr, nullptr), "gar_wait");
  }
  on.destroy_stream(stream);
  return saw;
}

}  // namespace

json::object run_probe(const settings& with) {
  card on({with.kernels});
  const unsigned flags_before = on.primary_flags();
  json::object saw = try_gar(on);
  saw["context_flags_before"] = flags_before;
  saw["context_flags_after"] = on.primary_flags();
  saw["name"] = on.name();
  saw["devices"] = on.driver().device_count;
  saw["cuda_version"] = on.driver().version;
  saw["compute_capability"] = std::to_string(on.attribute(compute_capability_major)) + "." +
                              std::to_string(on.attribute(compute_capability_minor));
  saw["says_it_can_store"] = on.attribute(can_use_64_bit_stream_mem_ops) != 0;
  saw["batches"] = on.driver().StreamBatchMemOp != nullptr;
  saw["work"] = on.has_kernels() ? "kernel" : "memory fills: " + on.kernels_refused();
  saw["rounds_per_ms"] = on.rounds_per_ms();
  return saw;
}

}  // namespace gar::device_check
