#include "tests/proto/vectors.hpp"

#include <iterator>

namespace gar::proto::test {
namespace {

void append(std::vector<vector_case>& all, std::vector<vector_case> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

// Names and meanings are ours and hold nothing that JSON escapes.
std::string row(const vector_case& one) {
  std::string json = "  {\"file\": \"" + one.file + "\", \"message\": ";
  json += one.message.empty() ? "null" : "\"" + one.message + "\"";
  json += ", \"bytes\": " + std::to_string(one.bytes.size());
  json += ", \"error\": " + std::to_string(one.error);
  json += one.fatal ? ", \"fatal\": true" : ", \"fatal\": false";
  json += ", \"state\": ";
  json += one.state.empty() ? "null" : "\"" + one.state + "\"";
  json += ",\n   \"meaning\": \"" + one.meaning + "\"";
  if (!one.fields.empty()) json += ",\n   \"fields\": " + one.fields;
  return json + "}";
}

}  // namespace

std::vector<vector_case> all_vectors() {
  std::vector<vector_case> all = valid_vectors();
  append(all, invalid_vectors());
  append(all, out_of_state_vectors());
  return all;
}

std::string vectors_manifest() {
  std::string json = "{\"version\": 1, \"vectors\": [\n";
  bool first = true;
  for (const vector_case& one : all_vectors()) {
    if (!first) json += ",\n";
    first = false;
    json += row(one);
  }
  return json + "\n]}\n";
}

}  // namespace gar::proto::test
