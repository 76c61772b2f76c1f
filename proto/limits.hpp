// Every maximum of the contract, in one place. What an operator may lower or raise at run time
// within these is in gard.toml under [limits].
#pragma once

#include <cstddef>
#include <cstdint>

#include "proto/line.hpp"

namespace gar::proto {

inline constexpr uint16_t version_min = 1;
inline constexpr uint16_t version_max = 1;

inline constexpr size_t frame_bytes_max = 4096;       // one SEQPACKET message
inline constexpr size_t name_bytes_max = 63;          // client, point, stream, driver names
inline constexpr size_t plan_bytes_max = 512;         // a plan's text
inline constexpr size_t error_text_bytes_max = 1024;  // the text of an error message
inline constexpr size_t ask_bytes_max = 3072;         // the JSON of an ask
inline constexpr size_t answer_bytes_max = 16 << 20;  // the JSON of an answer, all frames together
inline constexpr size_t control_line_bytes_max = 64
                                                 << 10;  // one request line on the control socket

inline constexpr size_t bands_max = 4;
inline constexpr size_t plan_scopes_max = 8192;  // of one generation, as one client gets it
inline constexpr size_t drivers_max = 8;         // driver capabilities in a hello
inline constexpr size_t points_per_client_max = 256;
inline constexpr size_t pages_per_client_max = 16;
inline constexpr size_t page_bytes_min = 4096;
inline constexpr size_t slots_per_page_min = page_bytes_min / line_bytes * words_per_line;
inline constexpr size_t records_unconfirmed_max = 256;

inline constexpr uint64_t age_ns_max = 10'000'000'000;         // older ages are clamped
inline constexpr uint64_t handshake_ns_max = 1'000'000'000;    // hello to welcome
inline constexpr uint64_t outcome_delay_ns_max = 100'000'000;  // an outcome is sent this soon
inline constexpr uint64_t owner_backstop_ns_min = 100'000'000;
inline constexpr uint64_t trace_ms_max = 600'000;  // a trace, as the control request has it

static_assert(plan_bytes_max < frame_bytes_max / 2, "a plan message holds a plan and its scope");
static_assert(error_text_bytes_max < frame_bytes_max / 2);
static_assert(ask_bytes_max < frame_bytes_max);
static_assert(slots_per_page_min == 512);

}  // namespace gar::proto
