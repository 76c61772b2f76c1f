#include "daemon/answer_json.hpp"

#include <boost/json/serialize.hpp>

#include "daemon/snapshot_json.hpp"

namespace gar {
namespace {

namespace json = boost::json;

json::object error_json(const error& e) {
  json::object shown = warning_json(e);
  const error_entry* entry = find_error(e.number());
  shown["remedy"] = entry ? entry->remedy : std::string_view();
  return shown;
}

std::string refusal(json::object e) {
  return json::serialize(json::object{{"ok", false}, {"error", std::move(e)}});
}

}  // namespace

std::string success_json(json::object answer) {
  return json::serialize(json::object{{"ok", true}, {"result", std::move(answer)}});
}

std::string refusal_json(const error& e) {
  return refusal(error_json(e));
}

std::string refusal_json(const error& e, const plan_fault& fault) {
  json::object shown = error_json(e);
  shown["position"] = fault.position;
  shown["fault"] = fault.fault;
  return refusal(std::move(shown));
}

}  // namespace gar
