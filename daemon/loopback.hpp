// Loopback: an address that this machine alone can reach, with a port.
//
//     "127.0.0.1:9746"   "[::1]:9746"
//
// gard's ports have no password, so an address that others could reach is not taken at all.
// Threads: pure. Errors: nothing, where the text is no such address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gar {

struct loopback {
  std::string address;  // without brackets
  uint16_t port = 0;    // never 0
};

std::optional<loopback> parse_loopback(std::string_view text);

}  // namespace gar
