#include "clients/garctl/answer_fields.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "clients/garctl/readable.hpp"

namespace gar {

namespace json = boost::json;

const json::value* field_at(const json::value& from, std::string_view path) {
  const json::value* at = &from;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    const json::object* fields = at->if_object();
    at = fields ? fields->if_contains(path.substr(0, dot)) : nullptr;
    if (!at || dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
  return at;
}

std::optional<std::string> optional_text_field(const json::value& from, std::string_view path) {
  const json::value* value = field_at(from, path);
  const json::string* text = value ? value->if_string() : nullptr;
  if (!text) return std::nullopt;
  return readable_text(*text);
}

std::string text_field(const json::value& from, std::string_view path) {
  return optional_text_field(from, path).value_or("?");
}

std::optional<uint64_t> count_field(const json::value& from, std::string_view path) {
  const json::value* value = field_at(from, path);
  if (!value || !value->is_number()) return std::nullopt;
  json::error_code wrong;
  const auto number = value->to_number<uint64_t>(wrong);
  if (wrong) return std::nullopt;
  return number;
}

uint64_t count_or_0(const json::value& from, std::string_view path) {
  return count_field(from, path).value_or(0);
}

std::string count_text(const json::value& from, std::string_view path) {
  const auto number = count_field(from, path);
  return number ? std::to_string(*number) : "?";
}

bool flag_field(const json::value& from, std::string_view path) {
  const json::value* value = field_at(from, path);
  return value && value->is_bool() && value->get_bool();
}

const json::array& list_field(const json::value& from, std::string_view name) {
  static const json::array none;
  const json::value* list = from.is_array() ? &from : field_at(from, name);
  return list && list->is_array() ? list->get_array() : none;
}

}  // namespace gar
