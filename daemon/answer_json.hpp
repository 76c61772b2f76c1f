// Answer JSON: the envelope of every answer on the control socket.
//
//     {"ok":true,"result":{..}}
//     {"ok":false,"error":{"code":N,"name":"..","text":"..","remedy":".."}}
//
// A list too long for one answer ends early and says in "omitted" how many entries it left out. A
// refused plan's error has "position" (bytes from 0) and "fault" too.
// Threads: pure. Allocation: the text.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"
#include "proto/limits.hpp"

namespace gar {

std::string success_json(boost::json::object result);
std::string refusal_json(const error& e);
std::string refusal_json(const error& e, const plan_fault& fault);

// {..,"NAME":[..],"omitted":0}, as many entries as `bytes_max` holds. Written as text, entry by
// entry, so that the bound is kept before the memory is used. `before` are the members in front, as
// text with a comma at the end.
template <class Entries, class ToJson>
std::string list_json(std::string_view name, const Entries& entries, ToJson to_json,
                      std::string_view before = {}, size_t bytes_max = proto::answer_bytes_max) {
  constexpr size_t end_bytes_max = 64;
  std::string text = R"({"ok":true,"result":{)" + std::string(before) + '"' + std::string(name);
  text += R"(":[)";
  size_t shown = 0;
  for (const auto& entry : entries) {
    const std::string one = boost::json::serialize(to_json(entry));
    if (text.size() + one.size() + end_bytes_max > bytes_max) break;
    if (shown++ > 0) text += ',';
    text += one;
  }
  return text + R"(],"omitted":)" + std::to_string(entries.size() - shown) + "}}";
}

}  // namespace gar
