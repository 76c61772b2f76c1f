// Host accounts: users and groups as this host knows them.
//
// Model: the host's own are asked of its name service, so that those of a directory (LDAP, sssd)
// are found too; below a root of a test's making they are lines of /etc/passwd and /etc/group.
// Threads: any. Blocking: as long as the name service takes. Ownership: values.
// Errors: none; who is not found, or cannot be asked for, is not there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gar {

struct host_user {
  std::string name;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

struct host_group {
  std::string name;
  uint32_t gid = 0;
  std::vector<std::string> members;  // but for those whose own group it is
};

class host_accounts {
 public:
  explicit host_accounts(std::string root) : root_(std::move(root)) {}

  // Whether groups can be asked for at all.
  bool has_groups() const;
  std::optional<host_user> user(uint32_t uid) const;
  std::optional<host_user> user(const std::string& name) const;
  std::optional<host_group> group(uint32_t gid) const;
  std::optional<host_group> group(const std::string& name) const;
  // By the group's list or by the user's own group; not by what a process holds.
  bool is_member(const host_user& user, const host_group& of) const;

 private:
  std::string root_;
};

}  // namespace gar
