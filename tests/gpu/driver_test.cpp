// A driver's entry points: found by name in a table or a library, or the very reason why not.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lib/gpu/cuda_driver.hpp"
#include "lib/gpu/driver_probe.hpp"
#include "lib/gpu/hip_driver.hpp"
#include "tests/linux/temporary_directory.hpp"

namespace gar {
namespace {

using testing::HasSubstr;

struct cuda {
  using driver = cuda_driver;
  static constexpr const char* library = "libcuda.so.1";
  static constexpr const char* init = "cuInit";
  static constexpr const char* old_version = "11060";
  static constexpr const char* optional = "cuStreamBatchMemOp_v2";
  static std::vector<std::string> needed() {
#define GAR_NAME(member, symbol, ...) #symbol,
    return {GAR_CUDA_CALLS(GAR_NAME)};
  }
  static driver_capability probe(std::span<const char* const> libraries) {
    return probe_cuda(probe_depth::full, libraries);
  }
};

struct hip {
  using driver = hip_driver;
  static constexpr const char* library = "libamdhip64.so.6";
  static constexpr const char* init = "hipInit";
  static constexpr const char* old_version = "50100000";
  static constexpr const char* optional = "hipStreamGetDevice";
  static std::vector<std::string> needed() {
    return {GAR_HIP_CALLS(GAR_NAME)};
#undef GAR_NAME
  }
  static driver_capability probe(std::span<const char* const> libraries) {
    return probe_hip(probe_depth::full, libraries);
  }
};

template <class Vendor>
class gpu_driver : public testing::Test {
 protected:
  using driver = typename Vendor::driver;
  static constexpr std::array<const char*, 1> libraries{Vendor::library};

  void SetUp() override {
    void* handle = dlopen(Vendor::library, RTLD_NOW | RTLD_LOCAL);
    if (!handle || !dlsym(handle, "fake_log_count")) {
      GTEST_SKIP() << Vendor::library << " is not the fake one";
    }
    dlclose(handle);
  }

  // A table with everything that the fake library has, but for one symbol.
  struct table {
    void* handle = dlopen(Vendor::library, RTLD_NOW | RTLD_LOCAL);
    std::string without;

    symbol_source source() const {
      return {"a table",
              [](const void* where, const char* symbol) -> void* {
                const auto* t = static_cast<const table*>(where);
                return t->without == symbol ? nullptr : dlsym(t->handle, symbol);
              },
              this};
    }
  };

  static std::string why_not() {
    result<driver> opened = driver::open(libraries);
    if (opened) return {};
    EXPECT_EQ(opened.error().code(), errc::Unavailable);
    return opened.error().text();
  }
};

struct vendor_name {
  template <class Vendor>
  static std::string GetName(int) {
    return std::is_same_v<Vendor, cuda> ? "cuda" : "hip";
  }
};
using vendors = testing::Types<cuda, hip>;
TYPED_TEST_SUITE(gpu_driver, vendors, vendor_name);

TYPED_TEST(gpu_driver, is_found_in_a_table_as_in_a_library) {
  typename TestFixture::table table;
  auto from_table = TypeParam::driver::from(table.source());
  ASSERT_TRUE(from_table) << from_table.error().text();
  auto from_library = TypeParam::driver::open(TestFixture::libraries);
  ASSERT_TRUE(from_library) << from_library.error().text();
  EXPECT_EQ(from_table->version, from_library->version);
  EXPECT_EQ(from_table->device_count, 2);
}

TYPED_TEST(gpu_driver, names_each_symbol_that_is_missing) {
  for (const std::string& symbol : TypeParam::needed()) {
    typename TestFixture::table table;
    table.without = symbol;
    auto refused = TypeParam::driver::from(table.source());
    ASSERT_FALSE(refused) << symbol;
    EXPECT_EQ(refused.error().code(), errc::Unavailable);
    EXPECT_THAT(refused.error().text(), HasSubstr("a table does not export " + symbol));
  }
}

TYPED_TEST(gpu_driver, does_without_what_is_optional) {
  typename TestFixture::table table;
  table.without = TypeParam::optional;
  EXPECT_TRUE(TypeParam::driver::from(table.source()));
}

// The symbol's name in the library itself is spoilt, so that the linker finds none.
TYPED_TEST(gpu_driver, names_a_symbol_that_a_real_library_lacks) {
  const temporary_directory directory;
  Dl_info where{};
  void* handle = dlopen(TypeParam::library, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(dladdr(dlsym(handle, TypeParam::init), &where), 0);
  std::ifstream in(where.dli_fname, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string name = std::string(1, '\0') + TypeParam::needed().at(9) + std::string(1, '\0');
  const size_t at = bytes.find(name);
  ASSERT_NE(at, std::string::npos);
  for (size_t next = at; next != std::string::npos; next = bytes.find(name, next)) {
    bytes[next + 1] = '?';
  }
  const std::string path = directory.file("spoilt.so");
  std::ofstream(path, std::ios::binary) << bytes;
  const std::array<const char*, 1> libraries{path.c_str()};
  auto refused = TypeParam::driver::open(libraries);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("does not export " + TypeParam::needed().at(9)));
  EXPECT_THAT(TypeParam::probe(libraries).why, HasSubstr(TypeParam::needed().at(9)))
      << "and so does garctl caps";
}

TYPED_TEST(gpu_driver, names_a_library_that_is_missing) {
  const std::array<const char*, 1> libraries{"libgar_no_such_driver.so.1"};
  auto refused = TypeParam::driver::open(libraries);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), errc::Unavailable);
  EXPECT_THAT(refused.error().text(), HasSubstr("libgar_no_such_driver.so.1"));
}

TYPED_TEST(gpu_driver, takes_the_library_that_the_program_has_loaded) {
  ASSERT_NE(dlopen(TypeParam::library, RTLD_NOW | RTLD_LOCAL), nullptr);
  const std::array<const char*, 2> libraries{"libgar_no_such_driver.so.1", TypeParam::library};
  EXPECT_TRUE(TypeParam::driver::open(libraries));
}

TYPED_TEST(gpu_driver, outlives_the_programs_own_use_of_the_library) {
  void* programs = dlopen(TypeParam::library, RTLD_NOW | RTLD_LOCAL);
  auto opened = TypeParam::driver::open(TestFixture::libraries);
  ASSERT_TRUE(opened) << opened.error().text();
  dlclose(programs);
  EXPECT_THAT(opened->text_of(700), HasSubstr("an illegal memory access was encountered"));
  Dl_info where{};
  EXPECT_NE(dladdr(reinterpret_cast<void*>(opened->GetErrorName), &where), 0) << "it was unloaded";
}

// The environment is read when the fake is loaded, and each test is a process of its own.

TYPED_TEST(gpu_driver, says_when_there_is_no_device) {
  setenv("FAKE_DEVICES", "0", 1);
  EXPECT_THAT(this->why_not(), HasSubstr("no device"));
  EXPECT_THAT(TypeParam::probe(TestFixture::libraries).why, HasSubstr("no device"));
}

TYPED_TEST(gpu_driver, says_when_it_is_too_old_and_what_is_needed) {
  setenv("FAKE_VERSION", TypeParam::old_version, 1);
  EXPECT_THAT(this->why_not(), HasSubstr("is too old"));
  EXPECT_THAT(this->why_not(), HasSubstr("or later is needed"));
}

TYPED_TEST(gpu_driver, says_which_call_failed_and_with_what) {
  setenv("FAKE_INIT", "999", 1);
  EXPECT_THAT(this->why_not(), HasSubstr(std::string(TypeParam::init) + " failed with status 999"));
}

TEST(gpu_driver_cuda, takes_status_34_as_no_driver) {
  setenv("FAKE_FAIL", "cuDriverGetVersion=34,cuInit=34", 1);
  result<cuda_driver> refused = cuda_driver::open(cuda_libraries);
  ASSERT_FALSE(refused);
  if (refused.error().text().find("libcuda.so.1") != std::string::npos) GTEST_SKIP() << "no fake";
  EXPECT_THAT(refused.error().text(), HasSubstr("stub"));
  EXPECT_THAT(refused.error().text(), HasSubstr("there is no driver"));
}

// Debian's own library, where it is installed; a machine with a card has nothing to refuse.
TEST(gpu_driver_hip, refuses_the_real_library_without_a_card) {
  const std::array<const char*, 1> libraries{"libamdhip64.so.5"};
  result<hip_driver> opened = hip_driver::open(libraries);
  if (opened) GTEST_SKIP() << "there is a card";
  EXPECT_EQ(opened.error().code(), errc::Unavailable);
  if (opened.error().text().find("cannot open") != std::string::npos) {
    GTEST_SKIP() << opened.error().text();
  }
  EXPECT_THAT(opened.error().text(), HasSubstr("no device (hipInit failed with status 101)"));
}

}  // namespace
}  // namespace gar
