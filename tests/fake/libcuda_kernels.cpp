// The rest of libcuda.so.1 that programs use beside streams: contexts of their own, kernels, host
// functions.
//
// No kernel is run. Two are known by their names, and do what those say:
//   spin_then_store(rounds, address, value)   lasts `rounds` nanoseconds; three 64-bit parameters
//   store_to(address)                         stores 1; faults where nothing is
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "lib/gpu/cuda_abi.hpp"
#include "tests/fake/fake_driver.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace fake;
namespace abi = gar::cuda;

namespace {

constexpr int compute_capability_major = 75;
constexpr int compute_capability_minor = 76;

// Never freed: handles are looked at after their end.
std::vector<std::unique_ptr<loaded_module>>& modules() {
  static auto* const all = new std::vector<std::unique_ptr<loaded_module>>;
  return *all;
}
std::vector<std::unique_ptr<kernel>>& kernels() {
  static auto* const all = new std::vector<std::unique_ptr<kernel>>;
  return *all;
}

uint64_t parameter(void** parameters, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, parameters[index], sizeof(value));
  return value;
}

status launch(machine& m, const kernel& k, stream* s, void** parameters) {
  constexpr const char* call = "cuLaunchKernel";
  if (k.in != s->in) return invalid_handle;
  if (k.name == "store_to") return m.work(s, 0, parameter(parameters, 0), 1, call);
  return m.work(s, parameter(parameters, 0), parameter(parameters, 1), parameter(parameters, 2),
                call);
}

}  // namespace

EXPORT abi::status cuDeviceGetName(char* name, int bytes, abi::device of) {
  return call("cuDeviceGetName", static_cast<uint64_t>(of), 0, 0, [&](machine&, auto&) {
    std::snprintf(name, static_cast<size_t>(bytes), "fake device %d", of);
    return success;
  });
}

EXPORT abi::status cuDeviceGetAttribute(int* value, unsigned which, abi::device of) {
  return call("cuDeviceGetAttribute", which, static_cast<uint64_t>(of), 0, [&](machine&, auto&) {
    *value = which == compute_capability_major ? 9 : which == compute_capability_minor ? 0 : 1;
    return success;
  });
}

EXPORT abi::status cuDevicePrimaryCtxSetFlags_v2(abi::device of, unsigned flags) {
  return call("cuDevicePrimaryCtxSetFlags_v2", static_cast<uint64_t>(of), flags, 0,
              [&](machine& m, auto&) {
                m.primary(of)->flags = flags;
                return success;
              });
}

EXPORT abi::status cuDevicePrimaryCtxGetState(abi::device of, unsigned* flags, int* active) {
  return call("cuDevicePrimaryCtxGetState", static_cast<uint64_t>(of), 0, 0,
              [&](machine& m, auto&) {
                *active = m.has_primary(of);
                *flags = m.primary(of)->flags;
                return success;
              });
}

EXPORT abi::status cuCtxCreate_v2(abi::context* created, unsigned flags, abi::device on) {
  const abi::status made =
      call("cuCtxCreate_v2", flags, static_cast<uint64_t>(on), 0, [&](machine& m, auto&) {
        context* fresh = m.create(on);
        fresh->flags = flags;
        *created = reinterpret_cast<abi::context>(fresh);
        return success;
      });
  if (made == success) push_current(reinterpret_cast<context*>(*created));
  return made;
}

EXPORT abi::status cuCtxDestroy_v2(abi::context destroyed) {
  return call("cuCtxDestroy_v2", as_number(destroyed), 0, 0, [&](machine& m, auto&) {
    auto* c = reinterpret_cast<context*>(destroyed);
    if (current_context() == c) pop_current();
    return m.destroy(c);
  });
}

EXPORT abi::status cuModuleLoadData(void** module, const void* image) {
  return call("cuModuleLoadData", 0, 0, 0, [&](machine& m, auto&) {
    if (status bad = m.usable(current_context()); bad != success) return bad;
    const std::string text = static_cast<const char*>(image);
    if (text.find(".version") == std::string::npos) return invalid_image;
    modules().push_back(std::make_unique<loaded_module>(loaded_module{current_context(), text}));
    *module = modules().back().get();
    return success;
  });
}

EXPORT abi::status cuModuleGetFunction(void** function, void* module, const char* name) {
  return call("cuModuleGetFunction", as_number(module), 0, 0, [&](machine&, auto&) {
    const auto* from = static_cast<const loaded_module*>(module);
    const std::string wanted = name;
    if (wanted != "spin_then_store" && wanted != "store_to") return not_found;
    if (from->text.find(".entry " + wanted + "(") == std::string::npos) return not_found;
    kernels().push_back(std::make_unique<kernel>(kernel{from->in, wanted}));
    *function = kernels().back().get();
    return success;
  });
}

EXPORT abi::status cuLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, unsigned, abi::stream on, void** parameters, void**) {
  return call("cuLaunchKernel", as_number(function), as_number(on), 0, [&](machine& m, auto&) {
    stream* s = nullptr;
    const status found = m.resolve(on, current_context(), &s);
    return found == success ? launch(m, *static_cast<const kernel*>(function), s, parameters)
                            : found;
  });
}

EXPORT abi::status cuLaunchHostFunc(abi::stream on, void (*function)(void*), void* data) {
  return call("cuLaunchHostFunc", as_number(on), 0, 0, [&](machine& m, auto&) {
    stream* s = nullptr;
    if (status bad = m.resolve(on, current_context(), &s); bad != success) return bad;
    operation o;
    o.kind = operation::what::function;
    o.function = function;
    o.data = data;
    return m.enqueue(s, std::move(o), "cuLaunchHostFunc");
  });
}
