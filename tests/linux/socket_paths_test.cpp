// Which socket: the order of flag, environment, configuration and defaults, and what is refused.
#include "lib/linux/socket_paths.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gar {
namespace {

socket_environment user_with(std::string runtime_dir) {
  socket_environment env;
  env.runtime_dir = std::move(runtime_dir);
  return env;
}
socket_environment root() {
  socket_environment env;
  env.root = true;
  return env;
}

socket_request for_clients(std::optional<std::string> flag = {},
                           std::optional<std::string> configured = {}) {
  return {socket_role::clients, std::move(flag), std::move(configured)};
}
const socket_request for_control{socket_role::control, {}, {}};

std::string listens_at(const socket_request& asked, const socket_environment& env) {
  result<socket_candidate> path = listen_path(asked, env);
  return path ? path->path : path.error().text();
}

TEST(socket_paths, flag_comes_before_environment_before_configuration_before_default) {
  socket_environment env = root();
  EXPECT_EQ(listens_at(for_clients(), env), "/run/gard/gard.sock");
  EXPECT_EQ(listens_at(for_clients({}, "/c"), env), "/c");
  env.clients_path = "/e";
  EXPECT_EQ(listens_at(for_clients({}, "/c"), env), "/e");
  EXPECT_EQ(listens_at(for_clients("/f", "/c"), env), "/f");
}

TEST(socket_paths, control_has_a_variable_and_a_directory_of_its_own) {
  socket_environment env = root();
  env.clients_path = "/e";
  EXPECT_EQ(listens_at(for_control, env), "/run/gard-control/control.sock");
  env.control_path = "/k";
  EXPECT_EQ(listens_at(for_control, env), "/k");
}

TEST(socket_paths, an_ordinary_user_listens_below_the_runtime_directory) {
  EXPECT_EQ(listens_at(for_clients(), user_with("/run/user/7")), "/run/user/7/gard/gard.sock");
  EXPECT_EQ(listens_at(for_control, user_with("/run/user/7")),
            "/run/user/7/gard-control/control.sock");
}

TEST(socket_paths, an_ordinary_user_without_a_runtime_directory_is_told_what_to_set) {
  const std::string said = listens_at(for_clients(), socket_environment{});
  EXPECT_NE(said.find("XDG_RUNTIME_DIR"), std::string::npos) << said;
  EXPECT_NE(said.find("GARD_SOCKET"), std::string::npos) << said;
  EXPECT_EQ(listen_path(for_clients(), user_with("")).error().code(), errc::InvalidArgument);
  EXPECT_EQ(listen_path(for_clients(), user_with("here")).error().code(), errc::InvalidArgument);
}

TEST(socket_paths, clients_try_the_systems_gard_then_the_users_own) {
  const auto paths = connect_paths(for_clients(), user_with("/run/user/7"));
  ASSERT_TRUE(paths);
  EXPECT_EQ(*paths,
            (std::vector<socket_candidate>{{"/run/gard/gard.sock", "the system's gard"},
                                           {"/run/user/7/gard/gard.sock", "XDG_RUNTIME_DIR"}}));
}

TEST(socket_paths, a_named_path_is_the_only_one_that_clients_try) {
  socket_environment env = user_with("/run/user/7");
  env.clients_path = "/e";
  EXPECT_EQ(*connect_paths(for_clients(), env),
            (std::vector<socket_candidate>{{"/e", "GARD_SOCKET"}}));
  EXPECT_EQ(*connect_paths(for_clients("f.sock"), env),
            (std::vector<socket_candidate>{{"f.sock", "--socket"}}));
}

TEST(socket_paths, a_library_has_its_own_name_for_what_its_caller_says) {
  socket_request asked = for_clients("f.sock");
  asked.flag_name = "socket_path";
  EXPECT_EQ(*connect_paths(asked, root()),
            (std::vector<socket_candidate>{{"f.sock", "socket_path"}}));
  asked.flag = "";
  EXPECT_EQ(connect_paths(asked, root()).error().arguments()[0], "socket_path");
}

TEST(socket_paths, clients_pass_over_a_runtime_directory_where_no_gard_can_listen) {
  for (const std::string& dir : {std::string(), std::string("here"), "/" + std::string(200, 'x')}) {
    const auto paths = connect_paths(for_clients(), user_with(dir));
    ASSERT_TRUE(paths);
    EXPECT_EQ(paths->size(), 1u) << dir;
  }
}

TEST(socket_paths, refuses_a_bad_variable_naming_it_and_what_was_expected) {
  socket_environment env = root();
  for (const std::string& bad : {std::string(), std::string("relative/gard.sock"),
                                 "/" + std::string(107, 'x'), std::string("/a\0b", 4)}) {
    env.clients_path = bad;
    const auto listen = listen_path(for_clients(), env);
    ASSERT_TRUE(listen.has_error()) << bad;
    EXPECT_EQ(listen.error().code(), errc::InvalidArgument);
    EXPECT_EQ(listen.error().arguments()[0], "GARD_SOCKET");
    EXPECT_EQ(connect_paths(for_clients(), env).error(), listen.error());
  }
}

TEST(socket_paths, takes_the_longest_path_that_an_address_holds) {
  EXPECT_TRUE(listen_path(for_clients("/" + std::string(106, 'x')), root()));
  EXPECT_FALSE(listen_path(for_clients("/" + std::string(107, 'x')), root()));
}

}  // namespace
}  // namespace gar
