// garctl's commands against a gard that answers as told: exit status, streams, and paths tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <fstream>
#include <functional>
#include <sstream>

#include "clients/garctl/gard_link.hpp"
#include "clients/garctl/requests.hpp"
#include "clients/garctl/trace.hpp"
#include "tests/clients/fake_gard.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using testing::HasSubstr;
using testing::Not;

struct outcome {
  int status = 0;
  std::string out;
  std::string err;
};

outcome captured(const std::function<int(terminal&)>& request) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  terminal with{in, out, err, paint(false), paint(false)};
  const int status = request(with);
  return {status, out.str(), err.str()};
}

outcome run(const command_line& line) {
  return captured([&line](terminal& with) { return run_request(line, with); });
}

class garctl_requests : public testing::Test {
 protected:
  garctl_requests() {
    ::setenv("GARD_CONTROL", control_.c_str(), 1);
    ::setenv("GARD_SOCKET", clients_.c_str(), 1);
  }
  static command_line asking(verb what) {
    command_line line;
    line.asked = what;
    return line;
  }

  temporary_directory directory_;
  std::string control_ = directory_.file("control.sock");
  std::string clients_ = directory_.file("gard.sock");
};

TEST_F(garctl_requests, a_question_goes_to_the_control_socket_first) {
  fake_gard control(control_, socket_type::stream, [](const std::string& request) {
    EXPECT_EQ(request, R"({"op":"version"})");
    return R"({"ok":true,"result":{"version":"9.8.7"}})";
  });
  const outcome got = run(asking(verb::version));
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.out, HasSubstr("gard 9.8.7"));
  EXPECT_EQ(got.err, "");
}

TEST_F(garctl_requests, a_question_goes_to_the_clients_socket_where_there_is_no_control) {
  fake_gard clients(clients_, socket_type::seqpacket, [](const std::string&) {
    return R"({"ok":true,"result":{"version":"1.2.3"}})";
  });
  const outcome got = run(asking(verb::version));
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.out, HasSubstr("gard 1.2.3"));
}

TEST_F(garctl_requests, an_answer_of_many_frames_is_put_together) {
  std::string clients = R"({"id":1,"name":"a"})";
  for (int i = 2; i < 500; ++i) clients += R"(,{"id":)" + std::to_string(i) + R"(,"name":"b"})";
  fake_gard gard(clients_, socket_type::seqpacket, [&](const std::string&) {
    return R"({"ok":true,"result":{"clients":[)" + clients + "]}}";
  });
  command_line line = asking(verb::clients);
  line.json = true;
  const outcome got = run(line);
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.out, HasSubstr(R"({"id":499,"name":"b"}]})"));
}

TEST_F(garctl_requests, nobody_there_ends_with_3_and_names_every_path) {
  const outcome got = run(asking(verb::status));
  EXPECT_EQ(got.status, 3);
  EXPECT_THAT(got.err, HasSubstr("0x0025 NotReachable"));
  EXPECT_THAT(got.err, HasSubstr(control_ + ": No such file"));
  EXPECT_THAT(got.err, HasSubstr(clients_ + ": No such file"));
  EXPECT_EQ(got.out, "");
}

TEST_F(garctl_requests, a_named_control_socket_is_the_only_one_tried) {
  fake_gard clients(clients_, socket_type::seqpacket,
                    [](const std::string&) { return R"({"ok":true,"result":{}})"; });
  command_line line = asking(verb::status);
  line.control = directory_.file("other.sock");
  const outcome got = run(line);
  EXPECT_EQ(got.status, 3);
  EXPECT_THAT(got.err, HasSubstr("other.sock"));
  EXPECT_THAT(got.err, Not(HasSubstr(clients_)));
}

TEST_F(garctl_requests, a_path_and_a_reason_that_a_terminal_would_obey_are_shown_as_numbers) {
  command_line line = asking(verb::status);
  line.control = directory_.file("\x1b[31m\u202e.sock");
  EXPECT_THAT(run(line).err, HasSubstr("\\x1b[31m\\xe2\\x80\\xae.sock: No such file"));
  unreachable failed;
  failed.attempts.push_back({"/a", "refused: \u2066b\n"});
  EXPECT_EQ(text_of(failed), "  /a: refused: \\xe2\\x81\\xa6b\\x0a\n");
}

TEST_F(garctl_requests, changes_are_never_sent_to_the_clients_socket) {
  fake_gard clients(clients_, socket_type::seqpacket,
                    [](const std::string&) { return R"({"ok":true,"result":{}})"; });
  command_line line = asking(verb::plan_set);
  line.plan_text = "block";
  const outcome got = run(line);
  EXPECT_EQ(got.status, 3);
  EXPECT_THAT(got.err, Not(HasSubstr(clients_)));
}

TEST_F(garctl_requests, a_gard_that_takes_the_connection_and_is_silent_ends_the_search) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) { return ""; });
  fake_gard clients(clients_, socket_type::seqpacket,
                    [](const std::string&) { return R"({"ok":true,"result":{}})"; });
  const auto link = gard_link::make({.control = {}, .socket = {}, .patience = from_ms(30)});
  const reply got = link->ask("status");
  const auto* failed = std::get_if<unreachable>(&got);
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->silent);
  ASSERT_EQ(failed->attempts.size(), 1u);
  EXPECT_EQ(failed->attempts[0].path, control_);
  EXPECT_EQ(failed->attempts[0].why, "no answer within 30 ms");
}

TEST_F(garctl_requests, who_must_end_in_time_waits_for_no_answer_past_it) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) { return ""; });
  auto link = gard_link::make({.control = {}, .socket = {}, .patience = from_ms(60'000)});
  link->end_at(instant{}, from_ms(30));
  const reply got = link->ask("status");
  const auto* failed = std::get_if<unreachable>(&got);
  ASSERT_TRUE(failed);
  ASSERT_EQ(failed->attempts.size(), 1u);
  EXPECT_EQ(failed->attempts[0].why, "no answer within 30 ms");
}

TEST_F(garctl_requests, whoever_answers_something_else_is_not_gard) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) { return "HTTP/1.1"; });
  const outcome got = run(asking(verb::status));
  EXPECT_EQ(got.status, 3);
  EXPECT_THAT(got.err, HasSubstr(control_ + ": whoever listens there is not gard"));
}

TEST_F(garctl_requests, a_refused_plan_is_shown_with_a_caret) {
  fake_gard control(control_, socket_type::stream, [](const std::string& request) {
    EXPECT_EQ(request, R"({"op":"plan_set","text":"block+","client":"c","point":"p"})");
    return R"({"ok":false,"error":{"code":1,"name":"InvalidPlan","text":"t","remedy":"r",)"
           R"("position":5,"fault":"block takes no prediction"}})";
  });
  command_line line = asking(verb::plan_set);
  line.plan_text = "block+";
  line.client = "c";
  line.point = "p";
  const outcome got = run(line);
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.err, HasSubstr("0x0001 InvalidPlan\nblock+\n     ^\n"));
  EXPECT_EQ(got.out, "");
}

// A plan may wait for its client, and a name may be mistyped: nobody but the person knows.
TEST_F(garctl_requests, a_plan_for_a_client_that_is_not_connected_is_set_and_that_said) {
  fake_gard control(control_, socket_type::stream, [](const std::string& request) {
    return request.find("plan_set") != std::string::npos
               ? R"({"ok":true,"result":{}})"
               : R"({"ok":true,"result":[{"id":1,"name":"trainer"}]})";
  });
  command_line line = asking(verb::plan_set);
  line.plan_text = "block";
  for (const auto& [name, said] :
       {std::pair("trainer", ""),
        {"tranier", "no client of the name 'tranier' is connected now\n"}}) {
    line.client = name;
    const outcome got = run(line);
    EXPECT_EQ(got.status, 0);
    EXPECT_EQ(got.err, said);
  }
}

TEST_F(garctl_requests, any_other_refusal_is_shown_with_number_text_and_remedy) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) {
    return R"({"ok":false,"error":{"code":43,"name":"NotSet","text":"no plan is set for x",)"
           R"("remedy":"do this","position":null,"fault":null}})";
  });
  const outcome got = run(asking(verb::plan_unset));
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.err, HasSubstr("0x002b NotSet: no plan is set for x"));
  EXPECT_THAT(got.err, HasSubstr("do this"));
}

TEST_F(garctl_requests, no_refusal_reaches_the_terminal_as_more_than_text) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) {
    return R"({"ok":false,"error":{"code":9,"name":"\u001b[31m",)"
           R"("text":"\u001b[2J","remedy":"\u0007"}})";
  });
  const outcome got = run(asking(verb::status));
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.err, HasSubstr("\\x1b[31m"));
  EXPECT_THAT(got.err, Not(HasSubstr("\x1b")));
}

TEST_F(garctl_requests, a_plan_that_is_no_text_is_refused_without_gard) {
  command_line line = asking(verb::plan_set);
  line.plan_text = "bl\xff";
  EXPECT_EQ(run(line).status, 1);
  line.plan_text = std::string(70'000, 'x');
  EXPECT_EQ(run(line).status, 1);
}

TEST_F(garctl_requests, a_name_that_cannot_be_one_is_a_usage_error) {
  command_line line = asking(verb::plan_unset);
  line.client = std::string(64, 'x');
  EXPECT_EQ(run(line).status, 2);
  line.client = "a\nb";
  EXPECT_EQ(run(line).status, 2);
}

TEST_F(garctl_requests, a_status_of_another_version_is_shown_as_far_as_it_goes) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) {
    return R"({"ok":true,"result":{"version":"\u001b[31m1","pid":"x","executor":[],)"
           R"("waits":{"pending":-1,"completed":1e300},"capabilities":[1,{"name":"n"}]}})";
  });
  const outcome got = run(asking(verb::status));
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.out, HasSubstr("\\x1b[31m1"));
  EXPECT_THAT(got.out, Not(HasSubstr("\x1b")));
}

TEST_F(garctl_requests, a_fallback_is_shown_with_its_number_and_remedy) {
  fake_gard control(control_, socket_type::stream, [](const std::string&) {
    return R"({"ok":true,"result":{"executor":{"requested":"io-uring","running":"naive",)"
           R"("strictness":"fallback","warning":{"code":3,"name":"ExecutorFallback",)"
           R"("text":"because"}}}})";
  });
  const outcome got = run(asking(verb::status));
  EXPECT_THAT(got.out, HasSubstr("naive\n            requested: io-uring"));
  EXPECT_THAT(got.out, HasSubstr("0x0003 ExecutorFallback: because"));
  EXPECT_THAT(got.out, HasSubstr("Enable what is missing"));
}

// Ends what writes to it, as a pipe whose reader leaves, once it has this text.
class read_until : public std::stringbuf {
 public:
  explicit read_until(std::string text) : text_(std::move(text)) {}

 private:
  int sync() override { return str().find(text_) == std::string::npos ? 0 : -1; }
  std::string text_;
};

// Between two sockets' numbers a watch repeated events, or skipped them.
TEST_F(garctl_requests, a_watch_that_goes_on_at_the_other_socket_shows_each_event_once) {
  int asked = 0;
  fake_gard control(control_, socket_type::stream, [&asked](const std::string&) -> std::string {
    if (++asked > 1) return "HTTP/1.1";  // nobody that is gard
    return R"({"ok":true,"result":{"log":9,"now_ns":50,"next":900,"lost":0,"more":false,)"
           R"("events":[{"number":900,"at_ns":40,"event":"warning","text":"first"}]}})";
  });
  fake_gard clients(clients_, socket_type::seqpacket, [](const std::string& request) {
    const bool all = request.find(R"("after":0)") != std::string::npos;
    return R"({"ok":true,"result":{"log":9,"now_ns":60,"next":2,"lost":0,"more":false,"events":[)" +
           std::string(all ? R"({"number":1,"at_ns":40,"event":"warning","text":"first"},)"
                             R"({"number":2,"at_ns":55,"event":"warning","text":"second"})"
                           : "") +
           "]}}";
  });
  std::istringstream in;
  read_until wrote("second");
  std::ostream out(&wrote);
  std::ostringstream err;
  terminal with{in, out, err, paint(false), paint(false)};
  command_line line = asking(verb::watch);
  line.kept = true;
  line.span = from_ms(30'000);
  EXPECT_EQ(run_request(line, with), 0);
  const std::string shown = wrote.str();
  EXPECT_NE(shown.find("second"), std::string::npos) << shown;
  EXPECT_EQ(shown.find("first"), shown.rfind("first")) << shown;
  EXPECT_EQ(err.str(), "");
}

constexpr const char* one_wait =
    R"({"waits":[{"id":1,"client_id":2,"stream":3,"start_ns":1,"seen_ns":2,)"
    R"("notified_ns":3}],"lost":0)";

outcome trace_from(const std::string& control, const std::string& file,
                   const std::function<std::string()>& next_part,
                   duration grace = from_ms(60'000)) {
  fake_gard gard(control, socket_type::stream, [&](const std::string& request) -> std::string {
    if (request.find("trace_read") != std::string::npos) return next_part();
    return R"({"ok":true,"result":{"trace":1}})";
  });
  command_line line;
  line.asked = verb::trace;
  line.span = from_ms(1);
  line.output = file;
  return captured([&](terminal& with) { return trace(line, with, grace); });
}

void expect_whole_json(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_TRUE(boost::json::parse(text.str()).is_object());
}

TEST_F(garctl_requests, a_trace_keeps_what_was_read_before_gard_went) {
  const std::string file = directory_.file("trace.json");
  int asked = 0;
  const outcome got = trace_from(control_, file, [&asked]() -> std::string {
    if (++asked == 1)
      return R"({"ok":true,"result":)" + std::string(one_wait) + R"(,"ended":false}})";
    return "HTTP/1.1";
  });
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.out, HasSubstr("1 waits in"));
  EXPECT_THAT(got.err, HasSubstr("the trace ends where gard went"));
  expect_whole_json(file);
}

// It was taken for a gard that went.
TEST_F(garctl_requests, a_trace_whose_place_another_took_says_so) {
  const std::string file = directory_.file("trace.json");
  int asked = 0;
  const outcome got = trace_from(control_, file, [&asked]() -> std::string {
    if (++asked == 1)
      return R"({"ok":true,"result":)" + std::string(one_wait) + R"(,"ended":false}})";
    return R"({"ok":false,"error":{"code":40,"name":"Closed","text":"trace 1, whose place a )"
           R"(later one took, is closed","remedy":""}})";
  });
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.out, HasSubstr("1 waits in"));
  EXPECT_THAT(got.err, HasSubstr("whose place a later one took"));
  EXPECT_THAT(got.err, HasSubstr("the trace ends where it was last read"));
  EXPECT_THAT(got.err, Not(HasSubstr("gard went")));
  expect_whole_json(file);
}

TEST_F(garctl_requests, a_trace_that_gard_never_ends_is_ended_all_the_same) {
  const std::string file = directory_.file("trace.json");
  const auto part = [] {
    return R"({"ok":true,"result":)" + std::string(one_wait) + R"(,"ended":false}})";
  };
  const outcome got = trace_from(control_, file, part, from_ms(20));
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.out, HasSubstr("waits in"));
  EXPECT_THAT(got.err, HasSubstr("gard did not end the trace in time"));
  expect_whole_json(file);
}

// A gard of another version that did not say whether it ended was asked for ever.
TEST_F(garctl_requests, a_trace_ends_where_gard_does_not_say_whether_it_did) {
  const outcome got = trace_from(control_, directory_.file("trace.json"), [] {
    return R"({"ok":true,"result":)" + std::string(one_wait) + "}}";
  });
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.out, HasSubstr("1 waits in"));
}

}  // namespace
}  // namespace gar
