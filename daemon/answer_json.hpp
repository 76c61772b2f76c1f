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
#include <utility>

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
class list_text {
 public:
  explicit list_text(std::string_view name, std::string_view before = {},
                     size_t bytes_max = proto::answer_bytes_max)
      : bytes_max_(bytes_max) {
    text_ = R"({"ok":true,"result":{)" + std::string(before) + '"' + std::string(name) + R"(":[)";
  }

  template <class Entries, class ToJson>
  void add(const Entries& entries, ToJson to_json) {
    for (const auto& entry : entries) {
      if (omitted_ > 0) {
        ++omitted_;
      } else {
        add_one(boost::json::serialize(to_json(entry)));
      }
    }
  }
  std::string end() {
    return std::move(text_) + R"(],"omitted":)" + std::to_string(omitted_) + "}}";
  }

 private:
  static constexpr size_t end_bytes_max = 64;

  void add_one(const std::string& one) {
    if (text_.size() + one.size() + end_bytes_max > bytes_max_) {
      ++omitted_;
      return;
    }
    if (shown_++ > 0) text_ += ',';
    text_ += one;
  }

  std::string text_;
  size_t bytes_max_;
  size_t shown_ = 0;
  size_t omitted_ = 0;
};

}  // namespace gar
