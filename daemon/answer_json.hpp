// Answer JSON: the envelope of every answer on the control socket.
//
//     {"ok":true,"result":{..}}
//     {"ok":false,"error":{"code":N,"name":"..","text":"..","remedy":".."}}
//
// A refused plan's error has "position" (bytes from 0) and "fault" too.
// Threads: pure. Allocation: the text.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "lib/core/error.hpp"
#include "lib/core/plan.hpp"

namespace gar {

std::string success_json(boost::json::object result);
std::string refusal_json(const error& e);
std::string refusal_json(const error& e, const plan_fault& fault);

}  // namespace gar
