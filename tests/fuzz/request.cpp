// Control requests: one that is taken has the keys of its op and no others, and says the same when
// it is written again; one that is refused is answered with one line of JSON.
#include "daemon/request.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "daemon/answer_json.hpp"
#include "lib/core/codec.hpp"
#include "lib/core/utf8.hpp"
#include "tests/fuzz/target.hpp"

namespace gar::fuzz {
namespace {

namespace json = boost::json;

std::string written(const control_request& r) {
  json::object o{{"op", name_of(r.op)}};
  if (r.op == request_op::plan_set) o["text"] = r.text;
  if (r.scope.client) o["client"] = *r.scope.client;
  if (r.scope.point) o["point"] = *r.scope.point;
  if (r.op == request_op::reload) o["replace"] = r.replace;
  if (r.after) o["after"] = *r.after;
  if (r.op == request_op::trace) o["for_ms"] = r.trace_for.ns / 1'000'000;
  if (r.op == request_op::trace_read) o["trace"] = r.trace;
  if (r.dialect == metrics_dialect::prometheus) o["dialect"] = "prometheus";
  return json::serialize(o);
}

void check_taken(const control_request& r) {
  const bool plans = r.op == request_op::plan_set || r.op == request_op::plan_unset;
  const bool traces = r.op == request_op::trace || r.op == request_op::trace_read;
  must(changes(r.op) == (plans || traces || r.op == request_op::reload));
  must(r.op == request_op::events || !r.after);
  must((r.op == request_op::trace) == (r.trace_for != duration{}));
  must(plans || (!r.scope.client && !r.scope.point));
  must(!r.scope.client || proto::valid_name(*r.scope.client));
  must(!r.scope.point || proto::valid_name(*r.scope.point));
  must(r.op == request_op::plan_set || r.text.empty());
  must(r.op == request_op::reload || !r.replace);
  must(r.op == request_op::metrics || r.dialect == metrics_dialect::open_metrics);
  const result<control_request> again = parse_request(written(r));
  must(again && again->op == r.op && again->text == r.text && again->replace == r.replace);
  must(again->dialect == r.dialect && again->after == r.after);
  must(again->trace_for == r.trace_for && again->trace == r.trace);
  must(again->scope.client == r.scope.client && again->scope.point == r.scope.point);
  if (r.op != request_op::plan_set) return;
  plan_fault fault;
  if (bands::parse(r.text, fault)) return;
  const std::string answer = refusal_json(bands::parse(r.text).error(), fault);
  must(valid_plain_text(answer));
}

void check_refused(const error& e) {
  must(e.code() == errc::InvalidArgument || e.code() == errc::UnknownRequest);
  const std::string answer = refusal_json(e);
  must(valid_plain_text(answer));
  json::error_code wrong;
  const json::value read = json::parse(answer, wrong);
  must(!wrong && !read.at("ok").as_bool());
  must(read.at("error").at("code").to_number<uint16_t>() == e.number());
}

}  // namespace
}  // namespace gar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace gar;
  const result<control_request> parsed =
      parse_request({reinterpret_cast<const char*>(data), bytes});
  if (parsed) {
    fuzz::check_taken(*parsed);
  } else {
    fuzz::check_refused(parsed.error());
  }
  return 0;
}
