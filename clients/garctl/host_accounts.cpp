#include "clients/garctl/host_accounts.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

namespace gar {
namespace {

// ---- the host's own ---------------------------------------------------------------------------

constexpr size_t entry_bytes_max = 1 << 20;  // a group of a directory can list thousands
constexpr int groups_of_user_max = 65'536;   // the kernel's NGROUPS_MAX

// Calls one of getpwnam_r and its like with room enough, and copies what it found.
template <class Entry, class Ask, class Copy>
auto asked(Ask ask, Copy copy) -> std::optional<decltype(copy(Entry{}))> {
  for (std::vector<char> room(4096); room.size() <= entry_bytes_max; room.resize(4 * room.size())) {
    Entry entry{};
    Entry* found = nullptr;
    const int failed = ask(&entry, room.data(), room.size(), &found);
    if (failed == ERANGE) continue;
    if (failed != 0 || !found) return std::nullopt;
    return copy(entry);
  }
  return std::nullopt;
}

host_user user_of(const passwd& entry) {
  return {entry.pw_name, entry.pw_uid, entry.pw_gid};
}

host_group group_of(const ::group& entry) {
  host_group of{entry.gr_name, entry.gr_gid, {}};
  for (char** each = entry.gr_mem; each && *each; ++each) of.members.emplace_back(*each);
  return of;
}

std::vector<gid_t> groups_of(const host_user& user) {
  std::vector<gid_t> all(64);
  for (;;) {
    int count = static_cast<int>(all.size());
    if (::getgrouplist(user.name.c_str(), user.gid, all.data(), &count) >= 0) {
      all.resize(static_cast<size_t>(count));
      return all;
    }
    if (count <= static_cast<int>(all.size()) || count > groups_of_user_max) return {};
    all.resize(static_cast<size_t>(count));
  }
}

// ---- files below a root -----------------------------------------------------------------------

std::vector<std::string> fields_of(const std::string& text, char at) {
  std::vector<std::string> fields;
  std::istringstream in(text);
  for (std::string field; std::getline(in, field, at);) fields.push_back(field);
  return fields;
}

uint32_t number_in(const std::string& text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The fields of the line whose field `index` is `wanted`.
std::vector<std::string> line_of(const std::string& file, size_t index, const std::string& wanted) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields = fields_of(line, ':');
    if (fields.size() > 2 && fields[index] == wanted) return fields;
  }
  return {};
}

std::optional<host_user> user_line(const std::string& root, size_t index,
                                   const std::string& wanted) {
  const auto fields = line_of(root + "/etc/passwd", index, wanted);
  if (fields.size() < 4) return std::nullopt;
  return host_user{fields[0], number_in(fields[2]), number_in(fields[3])};
}

std::optional<host_group> group_line(const std::string& root, size_t index,
                                     const std::string& wanted) {
  const auto fields = line_of(root + "/etc/group", index, wanted);
  if (fields.empty()) return std::nullopt;
  host_group of{fields[0], number_in(fields[2]), {}};
  if (fields.size() > 3) of.members = fields_of(fields[3], ',');
  return of;
}

}  // namespace

bool host_accounts::has_groups() const {
  return root_.empty() || std::ifstream(root_ + "/etc/group").good();
}

std::optional<host_user> host_accounts::user(uint32_t uid) const {
  if (!root_.empty()) return user_line(root_, 2, std::to_string(uid));
  return asked<passwd>([uid](auto... room) { return ::getpwuid_r(uid, room...); }, user_of);
}

std::optional<host_user> host_accounts::user(const std::string& name) const {
  if (!root_.empty()) return user_line(root_, 0, name);
  return asked<passwd>([&name](auto... room) { return ::getpwnam_r(name.c_str(), room...); },
                       user_of);
}

std::optional<host_group> host_accounts::group(uint32_t gid) const {
  if (!root_.empty()) return group_line(root_, 2, std::to_string(gid));
  return asked<::group>([gid](auto... room) { return ::getgrgid_r(gid, room...); }, group_of);
}

std::optional<host_group> host_accounts::group(const std::string& name) const {
  if (!root_.empty()) return group_line(root_, 0, name);
  return asked<::group>([&name](auto... room) { return ::getgrnam_r(name.c_str(), room...); },
                        group_of);
}

bool host_accounts::is_member(const host_user& user, const host_group& of) const {
  if (user.gid == of.gid) return true;
  if (std::find(of.members.begin(), of.members.end(), user.name) != of.members.end()) return true;
  if (!root_.empty()) return false;
  const std::vector<gid_t> all = groups_of(user);
  return std::find(all.begin(), all.end(), of.gid) != all.end();
}

}  // namespace gar
