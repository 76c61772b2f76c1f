// What the C interface refuses, and what it says then.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clients/sim_fixture.hpp"

namespace gar::test {
namespace {

TEST(interface, tells_version_names_and_texts) {
  EXPECT_STREQ(gar_version(), "0.1.0");
  EXPECT_STREQ(gar_error_name(GAR_E_TIMED_OUT), "TimedOut");
  EXPECT_STREQ(gar_error_name(-1), "Unknown");
  EXPECT_STREQ(gar_error_name(65000), "Unknown");
  EXPECT_STREQ(gar_error_text(GAR_E_CANCELLED), "the wait was cancelled");
  EXPECT_STREQ(gar_error_text(GAR_E_SYSTEM_CALL), "the operating system refused a call");
  EXPECT_EQ(gar_close(nullptr), 0);
  EXPECT_EQ(gar_stream_close(nullptr), 0);
  EXPECT_EQ(gar_mode(nullptr), GAR_MODE_IN_PROCESS);
}

TEST(interface, refuses_what_cannot_be_meant_and_names_it) {
  gar_client* c = nullptr;
  EXPECT_EQ(gar_connect(nullptr, nullptr), GAR_E_INVALID_ARGUMENT);
  gar_client_options o{};
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("struct_bytes is 0"), std::string::npos);
  o = in_process();
  o.flags = 0x80;
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT);
  o.flags = GAR_CLIENT_IN_PROCESS | GAR_CLIENT_NEED_DAEMON;
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT);
  o = in_process();
  const std::string long_name(64, 'x');
  o.name = long_name.c_str();
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("options->name"), std::string::npos);
  o.name = "\xff";
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(c, nullptr);
}

TEST(interface, takes_a_larger_struct_only_where_the_rest_is_zero) {
  struct {
    gar_client_options known = in_process();
    uint64_t more = 0;
  } o;
  o.known.struct_bytes = sizeof(o);
  gar_client* c = nullptr;
  ASSERT_EQ(gar_connect(&o.known, &c), 0) << last_text();
  EXPECT_EQ(gar_close(c), 0);
  o.more = 1;
  EXPECT_EQ(gar_connect(&o.known, &c), GAR_E_INVALID_ARGUMENT);
}

TEST(interface, a_bad_GAR_PLAN_is_InvalidPlan_with_a_sentence) {
  setenv("GAR_PLAN", "flag:park_us=0,backstop_us=1", 1);
  gar_client* c = nullptr;
  const gar_client_options o = in_process();
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_PLAN);
  EXPECT_NE(last_text().find("park_us"), std::string::npos) << last_text();
  unsetenv("GAR_PLAN");
}

TEST(interface, a_bad_time_in_the_environment_is_refused_naming_its_variable) {
  gar_client* c = nullptr;
  const gar_client_options o = in_process();
  for (const char* variable : {"GAR_SOFTWARE_SPIN", "GAR_SOFTWARE_SLEEP"}) {
    for (const char* bad : {"20", "", "11ms", "-1us"}) {
      setenv(variable, bad, 1);
      EXPECT_EQ(gar_connect(&o, &c), GAR_E_INVALID_ARGUMENT) << bad;
      EXPECT_NE(last_text().find(variable), std::string::npos) << last_text();
    }
    setenv(variable, "10ms", 1);
    ASSERT_EQ(gar_connect(&o, &c), 0) << last_text();
    EXPECT_EQ(gar_close(c), 0);
    unsetenv(variable);
  }
}

TEST(interface, takes_how_long_to_look_from_the_options_or_the_environment) {
  gar_client* client = nullptr;
  gar_client_options o = in_process();
  o.look_us = 5;
  EXPECT_EQ(gar_connect(&o, &client), GAR_E_INVALID_ARGUMENT);  // without its flag
  o.flags |= GAR_CLIENT_LOOK;
  o.look_us = 1'000'001;
  EXPECT_EQ(gar_connect(&o, &client), GAR_E_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("look_us"), std::string::npos);
  o.look_us = 0;
  ASSERT_EQ(gar_connect(&o, &client), 0) << last_text();
  gar_close(client);
  o = in_process();
  for (const char* bad : {"x", "-1", "1.5", "20us", "1000001"}) {
    setenv("GAR_LOOK_US", bad, 1);
    EXPECT_EQ(gar_connect(&o, &client), GAR_E_INVALID_ARGUMENT) << bad;
    EXPECT_NE(last_text().find("GAR_LOOK_US"), std::string::npos);
  }
  for (const char* good : {"0", "20", "1000000", ""}) {
    setenv("GAR_LOOK_US", good, 1);
    EXPECT_EQ(gar_connect(&o, &client), 0) << good;
    gar_close(client);
  }
  unsetenv("GAR_LOOK_US");
}

TEST(interface, needing_a_daemon_fails_where_there_is_none_naming_the_paths) {
  setenv("GARD_SOCKET", "/nonexistent/gard.sock", 1);
  gar_client_options o{};
  o.struct_bytes = sizeof(o);
  o.flags = GAR_CLIENT_NEED_DAEMON;
  gar_client* c = nullptr;
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_NOT_REACHABLE);
  EXPECT_NE(last_text().find("/nonexistent/gard.sock"), std::string::npos);
  o.flags = 0;
  ASSERT_EQ(gar_connect(&o, &c), 0) << last_text();
  EXPECT_EQ(gar_mode(c), GAR_MODE_IN_PROCESS);
  EXPECT_EQ(gar_close(c), 0);
  unsetenv("GARD_SOCKET");
}

TEST(interface, a_socket_that_fails_is_told_by_the_name_of_its_argument) {
  gar_client_options o{};
  o.struct_bytes = sizeof(o);
  o.socket_path = "/nonexistent/gard.sock";
  o.flags = GAR_CLIENT_NEED_DAEMON;
  gar_client* c = nullptr;
  EXPECT_EQ(gar_connect(&o, &c), GAR_E_NOT_REACHABLE);
  EXPECT_NE(last_text().find("/nonexistent/gard.sock (socket_path)"), std::string::npos)
      << last_text();
}

class interface_stream : public sim_fixture {};

TEST_F(interface_stream, refuses_nulls_and_unknown_flags) {
  connect("poll");
  gar_stream* s = nullptr;
  gar_device_ops ops{};
  EXPECT_EQ(gar_stream_open(client_, nullptr, nullptr, nullptr, nullptr, &s),
            GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_stream_open(client_, &ops, nullptr, nullptr, nullptr, &s), GAR_E_INVALID_ARGUMENT);
  ops.struct_bytes = sizeof(ops);
  ops.name = "x";
  EXPECT_EQ(gar_stream_open(client_, &ops, nullptr, nullptr, nullptr, &s), GAR_E_INVALID_ARGUMENT);
  EXPECT_NE(last_text().find("ops->map"), std::string::npos) << last_text();
  EXPECT_EQ(gar_sim_stream_open(nullptr, queue_, nullptr, &s), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_sim_stream_open(client_, nullptr, nullptr, &s), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_sim_stream_open(client_, queue_, nullptr, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_record(nullptr, &work_), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_record(stream_, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_signal(stream_, 0), GAR_E_INVALID_ARGUMENT);
  const uint64_t sequence = submit_and_record(0);
  gar_wait_options o = wait_options();
  o.flags = 0x10;
  EXPECT_EQ(gar_wait(stream_, sequence, &o, nullptr), GAR_E_INVALID_ARGUMENT);
  o = wait_options();
  o.point = "a\nb";
  EXPECT_EQ(gar_wait(stream_, sequence, &o, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_query(stream_, sequence, nullptr), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_take(client_, nullptr, 1, &work_), GAR_E_INVALID_ARGUMENT);
  EXPECT_EQ(gar_client_fd(nullptr), -1);
  gar_counters counters{};
  EXPECT_EQ(gar_client_counters(client_, &counters), GAR_E_INVALID_ARGUMENT);
  gar_vulkan_queue q{};
  EXPECT_EQ(gar_vulkan_stream_open(client_, &q, nullptr, &s), GAR_E_INVALID_ARGUMENT);
}

TEST_F(interface_stream, a_forked_child_is_refused_and_disturbs_nobody) {
  connect("flag:park_us=100,backstop_us=10000");
  const uint64_t sequence = submit_and_record(5 * ms);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    uint64_t next = 0;
    const bool refused = gar_record(stream_, &next) == GAR_E_FORKED_CHILD &&
                         gar_wait(stream_, sequence, nullptr, nullptr) == GAR_E_FORKED_CHILD &&
                         gar_stream_close(stream_) == GAR_E_FORKED_CHILD &&
                         gar_close(client_) == GAR_E_FORKED_CHILD;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(gar_wait(stream_, sequence, nullptr, nullptr), 0);
  EXPECT_EQ(truth(), 1u);
}

}  // namespace
}  // namespace gar::test
