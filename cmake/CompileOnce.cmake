# What every file would compile anew, compiled once.

# fmt's functions, hidden inside of whatever they are linked into: a process may have another fmt.
add_library(amp_fmt STATIC "${PROJECT_SOURCE_DIR}/src/fmt.cc")
set_target_properties(amp_fmt PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_include_directories(amp_fmt SYSTEM PUBLIC
  "$<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>")
target_link_libraries(amp_fmt PRIVATE amp_options)

# Headers of others that most files include are parsed once for each target. Those of ours stay out: the compiler gives no
# warnings for what is precompiled. Files still include what they use: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows it.
function(amp_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional> <set> <span> <string>
    <string_view> <unordered_map> <utility> <vector> <fmt/format.h> ${ARGN})
endfunction()

# The same for targets that are compiled with the same options: one of them makes it for all.
function(amp_precompile_for_all prefix target)
  get_property(first GLOBAL PROPERTY ${prefix}_precompiled)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    amp_precompile(${target} ${ARGN})
    set_property(GLOBAL PROPERTY ${prefix}_precompiled ${target})
  endif()
endfunction()

# Neighbouring files are compiled as one, which takes half of the time: headers are read, and their templates made, once
# for all of them. So names of unnamed namespaces are unique within a target. AMP_UNITY=OFF compiles a file at a time,
# which is faster for one who changes a single file, and shows which includes it forgot.
function(amp_compile_together target)
  if(AMP_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()
