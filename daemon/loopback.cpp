#include "daemon/loopback.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

namespace gar {
namespace {

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return text.front() == '0' ? std::nullopt : std::optional(port);
}

}  // namespace

std::optional<loopback> parse_loopback(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return std::nullopt;
  const std::optional<uint16_t> port = parse_port(text.substr(colon + 1));
  std::string_view address = text.substr(0, colon);
  const bool brackets = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (brackets) address = address.substr(1, address.size() - 2);
  boost::system::error_code wrong;
  const auto parsed = boost::asio::ip::make_address(std::string(address), wrong);
  if (!port || wrong || !parsed.is_loopback() || parsed.is_v6() != brackets) return std::nullopt;
  return loopback{parsed.to_string(), *port};
}

}  // namespace gar
