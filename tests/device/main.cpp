// device-check PART [--NAME VALUE]...: one part of the check of a real card, in this process.
//
// Prints one JSON object: {"ran": true, ...}, or {"ran": false, "why": "..."}.
// Exit status: 0 ran, 1 could not, 2 usage.
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

#include "gar_commit.h"
#include "tests/device/part.hpp"

namespace gar::device_check {
namespace {

namespace json = boost::json;
using part = json::object(const settings&);

json::object run_build(const settings&) {
  return {{"commit", GAR_COMMIT}};
}

const std::map<std::string, part*>& parts() {
  static const std::map<std::string, part*> all{
      {"build", run_build},
      {"probe", run_probe},
      {"delay", run_delay},
      {"load", run_load},
      {"word", run_word},
      {"fault-kernel", run_fault_kernel},
      {"fault-foreign", run_fault_foreign},
      {"fault-destroyed", run_fault_destroyed},
      {"pending", run_pending},
  };
  return all;
}

int usage() {
  std::cerr << "usage: device-check PART [--socket PATH] [--without-kernels] [--inline]\n"
               "                    [--rounds-per-ms N] [--seconds N] [--work-us N] [--repeats N]\n"
               "                    [--streams N]\nparts:";
  for (const auto& one : parts()) std::cerr << ' ' << one.first;
  std::cerr << '\n';
  return 2;
}

std::optional<uint64_t> number_of(const char* text) {
  uint64_t value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stopped, bad] = std::from_chars(text, end, value);
  if (bad != std::errc() || stopped != end) return std::nullopt;
  return value;
}

bool set_number(settings& into, const std::string& name, uint64_t value) {
  if (name == "--rounds-per-ms")
    into.rounds_per_ms = value;
  else if (name == "--seconds")
    into.seconds = value;
  else if (name == "--work-us")
    into.work_us = value;
  else if (name == "--repeats")
    into.repeats = value;
  else if (name == "--streams")
    into.streams = value;
  else
    return false;
  return true;
}

std::optional<settings> parse(int count, char** texts) {
  settings s;
  for (int i = 2; i < count; ++i) {
    const std::string name = texts[i];
    if (name == "--without-kernels") {
      s.kernels = false;
    } else if (name == "--inline") {
      s.run_inline = true;
    } else if (++i == count) {
      return std::nullopt;
    } else if (name == "--socket") {
      s.socket = texts[i];
    } else {
      const auto value = number_of(texts[i]);
      if (!value || !set_number(s, name, *value)) return std::nullopt;
    }
  }
  return s;
}

int run(part* which, const settings& with) {
  json::object answer;
  try {
    answer = which(with);
    answer["ran"] = true;
  } catch (const std::exception& e) {
    answer = {{"ran", false}, {"why", e.what()}};
  }
  std::cout << json::serialize(answer) << std::endl;
  return answer["ran"].as_bool() ? 0 : 1;
}

}  // namespace
}  // namespace gar::device_check

int main(int count, char** texts) {
  using namespace gar::device_check;
  const auto found = count < 2 ? parts().end() : parts().find(texts[1]);
  const auto with = parse(count, texts);
  if (found == parts().end() || !with) return usage();
  return run(found->second, *with);
}
