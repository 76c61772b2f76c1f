# Examples that use a vendor's interface. Each is built with the vendor's headers and library where
# those are, as a program of one's own would be, and runs if there is a device; and once more with
# the fake driver in the library's place, so that it runs anywhere.
set(fake_driver_environment LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/tests/fake)

# gar_vendor_example(NAME SOURCE INCLUDE REAL_LIBRARY FAKE_TARGET). A vendor's library is not made to
# be run under a sanitizer.
function(gar_vendor_example name source include real fake)
  set(built)
  if(real AND NOT GAR_SANITIZE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE ${real})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${example_directory})
    gar_example_test(${name} COMMAND ${name})
    list(APPEND built ${name})
  endif()
  if(GAR_TESTS)
    add_executable(${name}_with_the_fake ${source})
    target_link_libraries(${name}_with_the_fake PRIVATE ${fake})
    # Among the tests, for nobody to take it for the real one.
    set_target_properties(${name}_with_the_fake PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    gar_example_test(${name}_with_the_fake ${fake_driver_environment}
      COMMAND ${name}_with_the_fake)
    list(APPEND built ${name}_with_the_fake)
  endif()
  foreach(target ${built})
    target_link_libraries(${target} PRIVATE garclient::garclient)
    target_include_directories(${target} SYSTEM PRIVATE ${include})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
    gar_example_sanitized(${target})
  endforeach()
endfunction()

if(GAR_HIP_INCLUDE)
  find_library(GAR_HIP_LIBRARY amdhip64 HINTS ENV ROCM_PATH PATHS /opt/rocm/lib)
  gar_vendor_example(await_hip await_hip.cpp ${GAR_HIP_INCLUDE} "${GAR_HIP_LIBRARY}" fake_hip)
  foreach(target await_hip await_hip_with_the_fake)
    if(TARGET ${target})
      target_compile_definitions(${target} PRIVATE __HIP_PLATFORM_AMD__)
    endif()
  endforeach()
endif()

# The toolkit's stub is no driver, and is not found under the name that programs load. Where there is
# no <cuda.h> either, one of ours stands in.
set(cuda_include ${GAR_CUDA_INCLUDE})
if(NOT cuda_include)
  set(cuda_include ${PROJECT_SOURCE_DIR}/tests/fake)
endif()
gar_vendor_example(failing_kernel failing_kernel.cpp ${cuda_include} "" fake_cuda)
if(TARGET failing_kernel_with_the_fake)
  set_target_properties(failing_kernel_with_the_fake PROPERTIES CXX_STANDARD 17)
endif()
if(TEST example_failing_kernel_with_the_fake)
  # After a fault the library keeps what the device might still store into.
  set_property(TEST example_failing_kernel_with_the_fake APPEND PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_leaks=0)
endif()

# A stream's number, from Python.
add_library(await_handle SHARED await_handle.c)
target_link_libraries(await_handle PRIVATE garclient::garclient)
target_compile_options(await_handle PRIVATE -Wall -Wextra -Wpedantic -Werror)
gar_example_sanitized(await_handle)
set_target_properties(await_handle PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${example_directory})
find_program(GAR_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
# A sanitizer's runtime does not come into an interpreter that was built without.
if(GAR_PYTHON AND GAR_TESTS AND NOT GAR_SANITIZE)
  foreach(vendor cuda hip)
    set(command ${GAR_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/await_handle.py
      $<TARGET_FILE:await_handle> ${vendor})
    gar_example_test(await_handle_${vendor} COMMAND ${command})
    gar_example_test(await_handle_${vendor}_with_the_fake ${fake_driver_environment}
      COMMAND ${command})
  endforeach()
endif()

# CUDA C++, by nvcc with its own host compiler; only compiled where there is no runtime to link.
find_program(GAR_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
if(GAR_NVCC AND GAR_VENDOR_HEADERS AND NOT GAR_SANITIZE)
  get_filename_component(nvcc_directory ${GAR_NVCC} DIRECTORY)
  find_library(GAR_CUDART cudart_static HINTS ${nvcc_directory}/../lib64)
  set(includes $<TARGET_PROPERTY:garclient,INTERFACE_INCLUDE_DIRECTORIES>)
  if(GAR_CUDART)
    set(await_cuda ${example_directory}/await_cuda)
    set(how $<TARGET_LINKER_FILE:garclient> -Xlinker=-rpath,$<TARGET_FILE_DIR:garclient>)
  else()
    set(await_cuda ${CMAKE_CURRENT_BINARY_DIR}/await_cuda.o)
    set(how -c)
  endif()
  file(MAKE_DIRECTORY ${example_directory})
  add_custom_command(OUTPUT ${await_cuda}
    COMMAND ${GAR_NVCC} -std=c++17 "-I$<JOIN:${includes},;-I>"
      ${CMAKE_CURRENT_SOURCE_DIR}/await_cuda.cu -o ${await_cuda} ${how}
    COMMAND_EXPAND_LISTS VERBATIM
    DEPENDS await_cuda.cu ${PROJECT_SOURCE_DIR}/clients/garclient/gar.h garclient
    COMMENT "Compiling await_cuda with nvcc")
  add_custom_target(await_cuda ALL DEPENDS ${await_cuda})
  if(GAR_CUDART)
    gar_example_test(await_cuda COMMAND ${await_cuda})
  endif()
endif()
