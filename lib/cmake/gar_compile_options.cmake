# Warnings and sanitizers of every target of ours: gar_options.
add_library(gar_options INTERFACE)
target_compile_features(gar_options INTERFACE cxx_std_20)
target_compile_options(gar_options INTERFACE
  -Wall -Wextra -Wshadow=local -Werror=return-type -fno-omit-frame-pointer)
target_include_directories(gar_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # clang names -Wshadow=local plain -Wshadow; unknown warnings must not fail the build.
  target_compile_options(gar_options INTERFACE -Wno-unknown-warning-option)
else()
  # Where nothing is inlined g++ takes a coroutine promise's operator new that is a template, and its
  # operator delete that is not, for a mismatch. Another project may have no build type at all.
  target_compile_options(gar_options INTERFACE
    $<$<AND:$<NOT:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>,$<COMPILE_LANGUAGE:CXX>>:-Wno-mismatched-new-delete>)
endif()
if(GAR_SANITIZE)
  # -g1: the lines of stack traces; all of it takes a third more time to build.
  target_compile_options(gar_options INTERFACE
    -fsanitize=${GAR_SANITIZE} -fno-sanitize-recover=all $<$<COMPILE_LANGUAGE:C,CXX>:-g1>)
  target_link_options(gar_options INTERFACE -fsanitize=${GAR_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND GAR_SANITIZE MATCHES "undefined")
    # clang 14 reports false function-type mismatches in coroutine frames.
    target_compile_options(gar_options INTERFACE -fno-sanitize=function)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND GAR_SANITIZE MATCHES "thread")
    # g++ warns that TSan does not model atomic_thread_fence; the places that use one say so.
    target_compile_options(gar_options INTERFACE -Wno-tsan)
  endif()
endif()
if(GAR_FUZZ)
  # Everything of ours tells the fuzzer which branches it took; only its targets link its engine.
  target_compile_options(gar_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
# A header and no definition, so that only what asks for it is another in such a build.
if(GAR_PLANTED_BUGS)
  set(planted 1)
else()
  set(planted 0)
endif()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/planted_build.hpp
  CONTENT "// Written by CMake: are the mistakes of lib/core/planted.hpp built in?\n#define GAR_PLANTED_BUGS ${planted}\n")
