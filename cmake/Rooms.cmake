# A room is a folder of src/. Its sources become an OBJECT library, so that code which only registers itself
# (operators) survives linking; all rooms together become one shared library.

set(amp_rooms "")

# amp_add_room(<name> [ONEDNN])
macro(amp_add_room name)
  amp_add_room_target(${name} ${ARGN})
  list(APPEND amp_rooms amp_${name})
endmacro()

function(amp_add_room_target name)
  cmake_parse_arguments(arg "ONEDNN" "" "" ${ARGN})
  set(target amp_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cc")
  list(SORT sources)
  amp_compile_for_targets(sources)
  amp_set_instruction_sets(${sources})

  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>")
  target_link_libraries(${target} PRIVATE amp_options amp_fmt nlohmann_json::nlohmann_json)
  if(name STREQUAL "kernels")  # where most files have flags of their own, and macros
    amp_precompile(${target})
  else()
    amp_precompile_for_all(rooms ${target})
    amp_compile_together(${target})
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_compile_options(${target} PRIVATE -O2)  # -O3 compiles a tenth longer; loops that count are in kernels
    endif()
  endif()
  # Only this room sees dnnl.hpp.
  if(arg_ONEDNN)
    target_link_libraries(${target} PRIVATE DNNL::dnnl)
  endif()
endfunction()

# Links all rooms into the shared library <name>.
function(amp_link_rooms name)
  add_library(${name} SHARED)
  add_library(${name}::${name} ALIAS ${name})
  foreach(room IN LISTS amp_rooms)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${room}>)
  endforeach()
  # The file has its SONAME's name: versions that a program may be given in place of each other share the two numbers.
  set(abi "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX VERSION ${abi} SOVERSION ${abi})
  target_include_directories(${name} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
                                               "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                               "$<INSTALL_INTERFACE:include>" "$<INSTALL_INTERFACE:include/amp>")
  target_compile_features(${name} INTERFACE cxx_std_20)
  # The library names oneDNN itself (and where to find it): programs that link to it need not know.
  # A program elsewhere compiles fmt itself: what is in the library cannot be seen from outside.
  target_link_libraries(${name} PUBLIC "$<BUILD_INTERFACE:amp_fmt>" "$<INSTALL_INTERFACE:fmt::fmt-header-only>"
                                PRIVATE "$<BUILD_INTERFACE:amp_options;DNNL::dnnl;Threads::Threads;${CMAKE_DL_LIBS}>")
  # A symbol that nobody defines is an error here and not at a user's import.
  target_link_options(${name} PRIVATE -Wl,-z,defs)
endfunction()
