// Holds card_calls.hpp against CUDA's own headers; built only where they are found.
#include <cuda.h>
#include <cudaTypedefs.h>

#include "lib/gpu/same_abi.hpp"
#include "tests/device/card_calls.hpp"

namespace gar::device_check {
namespace {

static_assert(schedule_spin == CU_CTX_SCHED_SPIN);
static_assert(schedule_blocking_sync == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(compute_capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(compute_capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(can_use_64_bit_stream_mem_ops == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);

#define GAR_CHECK(member, symbol, theirs, ...) \
  static_assert(same_abi<std::add_pointer_t<__VA_ARGS__>, theirs>::value, #symbol);
GAR_CARD_CALLS(GAR_CHECK)
#undef GAR_CHECK

}  // namespace
}  // namespace gar::device_check
