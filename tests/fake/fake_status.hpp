// What a fake driver's calls answer: the vendors' own numbers, which are the same for both.
#pragma once

#include <cstdint>

namespace fake {

using status = int32_t;
inline constexpr status success = 0;
inline constexpr status invalid_value = 1;
inline constexpr status out_of_memory = 2;
inline constexpr status not_initialized = 3;
inline constexpr status no_device = 100;
inline constexpr status invalid_device = 101;
inline constexpr status invalid_image = 200;
inline constexpr status invalid_context = 201;
inline constexpr status invalid_handle = 400;
inline constexpr status not_found = 500;
inline constexpr status not_ready = 600;
inline constexpr status illegal_address = 700;
inline constexpr status context_is_destroyed = 709;
inline constexpr status already_registered = 712;
inline constexpr status not_registered = 713;
inline constexpr status capture_unsupported = 900;
inline constexpr status capture_invalidated = 901;
inline constexpr status capture_unmatched = 903;
inline constexpr status capture_implicit = 906;
inline constexpr status captured_event = 907;

}  // namespace fake
