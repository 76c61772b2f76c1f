// Output file: what a program writes for a person, whole or not at all, wherever the person says.
//
// A file that is being written for minutes must not take the place of an earlier one before it is
// whole, and the name that a person gives need not be a file's.
//
//   FILE is new, or a file           --> written beside it, FILE.XXXXXX.part, and renamed onto it
//   FILE is a device, a pipe, a tty  --> written in place, as a shell's `>` does
//   FILE is a symbolic link          --> what it leads to is meant; a link to nothing is replaced
//
//   make --text()--> being written --keep()--> FILE is whole
//                                  --~, SIGINT, SIGTERM, SIGHUP--> FILE is as before, no part is
//                                  left
//
// Invariants: the part is made by this object, with a name that nobody else can have prepared; what
// FILE was keeps its mode, and its owner where this process may give it. A signal that is ignored
// stays ignored; the others end the process as they would have.
//
// Threads: one, and one object at a time. Blocking: as the file; opening a pipe waits for its
// reader.
//
// Ownership: the object has the part and, while it lives, the three signals.
//
// Errors: SystemCall, with errno: make says what FILE cannot be before anything is written.
//
// What it does not do: keep FILE's hard links, or sync to the disk.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "lib/core/error.hpp"

namespace gar {

class output_file {
 public:
  static result<std::unique_ptr<output_file>> make(const std::string& path);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  std::ostream& text() { return text_; }
  // Passes on what was written so far: has all of it been taken?
  std::optional<error> failure();
  // What was written becomes FILE. Called once, as the last.
  std::optional<error> keep();

 private:
  class buffer;
  explicit output_file(const std::string& path);
  std::optional<error> open(const std::string& path);
  std::optional<error> open_part(const std::string& target, const struct stat* before);

  std::string path_;    // as named, for errors
  std::string target_;  // the part's; both empty: in place
  std::string part_;
  std::unique_ptr<buffer> buffer_;
  std::ostream text_;
};

}  // namespace gar
