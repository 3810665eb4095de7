# What every file would compile anew, compiled once.

# fmt's functions, hidden inside of whatever they are linked into: a process may have another fmt.
add_library(amp_fmt STATIC "${PROJECT_SOURCE_DIR}/src/fmt.cc")
set_target_properties(amp_fmt PROPERTIES CXX_VISIBILITY_PRESET hidden)
target_include_directories(amp_fmt SYSTEM PUBLIC
  "$<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>")
target_link_libraries(amp_fmt PRIVATE amp_options)
