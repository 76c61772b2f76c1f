// A fake driver as a test sees it: the library that the code under test loads, its controls and its
// log.
//
// Threads: any. Errors: `why_not` says why the fake is not the library that would be loaded; a test
// is skipped then.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fake/fake_controls.hpp"

namespace gar {

class fake_library {
 public:
  explicit fake_library(const char* name) : handle_(dlopen(name, RTLD_NOW)), name_(name) {
#define GAR_FIND(control, ...) control = find<fake_functions::control>(#control);
    FAKE_CONTROLS(GAR_FIND)
#undef GAR_FIND
  }

  std::string why_not() const {
    if (fake_log_count) return {};
    return name_ + " is not the fake one; set LD_LIBRARY_PATH to the build's tests/fake";
  }

  template <class Function>
  Function* find(const char* symbol) const {
    return handle_ ? reinterpret_cast<Function*>(dlsym(handle_, symbol)) : nullptr;
  }

#define GAR_MEMBER(control, ...) fake_functions::control* control = nullptr;
  FAKE_CONTROLS(GAR_MEMBER)
#undef GAR_MEMBER

  std::vector<fake_call> log() const {
    std::vector<fake_call> calls(fake_log_count());
    for (size_t i = 0; i < calls.size(); ++i) fake_log_at(i, &calls[i]);
    return calls;
  }
  // The names of what was called, in order, but for those that only look where a thread is.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const fake_call& c : log()) all.emplace_back(c.name);
    return all;
  }
  std::vector<fake_call> calls_of(const std::string& name) const {
    std::vector<fake_call> found;
    for (const fake_call& c : log()) {
      if (name == c.name) found.push_back(c);
    }
    return found;
  }
  size_t count(const std::string& name) const {
    return calls_of(name).size();
  }
  std::vector<std::string> violations() const {
    std::vector<std::string> all;
    for (size_t i = 0; i < fake_violation_count(); ++i) all.emplace_back(fake_violation_at(i));
    return all;
  }

 private:
  void* handle_;
  std::string name_;
};

}  // namespace gar
