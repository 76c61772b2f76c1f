#include "tests/fake/fake_settings.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

namespace fake {
namespace {

constexpr unsigned always = UINT32_MAX;

uint64_t environment_number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// "a=1,b=2"
std::vector<std::pair<std::string, uint64_t>> environment_pairs(const char* name) {
  std::vector<std::pair<std::string, uint64_t>> pairs;
  const char* text = std::getenv(name);
  std::istringstream all(text ? text : "");
  for (std::string one; std::getline(all, one, ',');) {
    const size_t at = one.find('=');
    if (at == std::string::npos) continue;
    pairs.emplace_back(one.substr(0, at), std::strtoull(one.c_str() + at + 1, nullptr, 10));
  }
  return pairs;
}

// One of a number that counts down, unless it is endless.
bool take_one(unsigned& left) {
  if (left == 0) return false;
  if (left != always) --left;
  return true;
}

}  // namespace

settings::settings()
    : devices_(static_cast<int>(environment_number("FAKE_DEVICES", 2))),
      version_(static_cast<int>(environment_number("FAKE_VERSION", 0))),
      init_status_(static_cast<status>(environment_number("FAKE_INIT", 0))) {
  for (const auto& [call, answer] : environment_pairs("FAKE_FAIL")) {
    fail(call, static_cast<status>(answer), 0, always);
  }
  for (const auto& [call, delay_ns] : environment_pairs("FAKE_SLOW")) slow(call, delay_ns);
  const char* stores = std::getenv("FAKE_STORES");
  if (stores && std::strcmp(stores, "lost") == 0) lose_stores(always);
  if (stores && std::strncmp(stores, "late=", 5) == 0) {
    delay_stores(always, std::strtoull(stores + 5, nullptr, 10));
  }
}

void settings::fail(const std::string& call, status answer, unsigned skip, unsigned times) {
  failing_[call] = {answer, skip, times};
}

void settings::delay_stores(unsigned count, uint64_t delay_ns) {
  stores_to_delay_ = count;
  store_delay_ns_ = delay_ns;
}

status settings::answer_to(const char* call) {
  auto told = failing_.find(call);
  if (told == failing_.end()) return success;
  failing& f = told->second;
  if (f.skip > 0) {
    --f.skip;
    return success;
  }
  return take_one(f.times) ? f.answer : success;
}

uint64_t settings::delay_ns(const char* call) const {
  auto told = delays_ns_.find(call);
  return told == delays_ns_.end() ? 0 : told->second;
}

store_fate settings::fate_of_store() {
  if (take_one(stores_to_lose_)) return {.lost = true};
  if (take_one(stores_to_delay_)) return {.delay_ns = store_delay_ns_};
  return {};
}

}  // namespace fake
