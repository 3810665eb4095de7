# Where things are installed. `cmake --install` is for C++ users: headers, library, CMake package nnvm_amp
# (component `cpp`), and what a program needs beside them. Component `python`, only installed when named, fills the package folder amp/ of a wheel.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A wheel carries the libdnnl that it was compiled for, so that it needs no other package.
if(DEFINED SKBUILD AND amp_python_dnnl AND dnnl_DIR STREQUAL amp_python_dnnl)
  set(amp_bundle_default ON)
else()
  set(amp_bundle_default OFF)
endif()
option(AMP_WHEEL "Build for a wheel that other machines install (tools/make_wheels.py)" OFF)
option(AMP_BUNDLE_ONEDNN "Install a copy of libdnnl beside the Python extension" ${amp_bundle_default})

# What was found in a Python package is in no place where a C++ user's compiler and loader look: `cmake --install` takes
# a copy of it along. Sets <result> to whether <name> was.
function(amp_is_from_python name result)
  set(${result} FALSE PARENT_SCOPE)
  if(amp_python_${name} AND ${name}_DIR)
    file(REAL_PATH "${amp_python_${name}}" ours)
    file(REAL_PATH "${${name}_DIR}" found)
    if(ours STREQUAL found)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# What `amp demo` reads.
set(amp_demo_files "${PROJECT_SOURCE_DIR}/examples/digits/digits-symbol.json"
                   "${PROJECT_SOURCE_DIR}/examples/digits/digits-0000.params"
                   "${PROJECT_SOURCE_DIR}/examples/digits/heldout.npz")

# Relative to site-packages/amp: first the folder itself, then <prefix>/lib, where onednn-cpu-gomp puts the libdnnl that an
# installation by `make` uses. CMake replaces the build tree's paths by these when it installs.
set(AMP_PYTHON_RPATH "$ORIGIN;$ORIGIN/../../..;${CMAKE_INSTALL_RPATH}")
list(REMOVE_ITEM AMP_PYTHON_RPATH "")

function(amp_install_library name)
  if(AMP_BUILD_PYTHON)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${AMP_PYTHON_RPATH}")
  else()  # for C++ alone: the oneDNN that it was linked to
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}"
                                             INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION amp COMPONENT python NAMELINK_SKIP EXCLUDE_FROM_ALL)
  install(FILES ${amp_demo_files} DESTINATION amp/digits COMPONENT python EXCLUDE_FROM_ALL)
  if(AMP_BUNDLE_ONEDNN)
    amp_install_onednn(amp amp/licenses COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  if(AMP_WHEEL)
    amp_prepare_for_auditwheel(${name})
  endif()

  install(TARGETS ${name} EXPORT ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
  amp_install_headers(include/amp)
  amp_install_borrowed(include/amp)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name} NAMESPACE ${name}:: FILE ${name}-targets.cmake DESTINATION ${package_dir}
          COMPONENT cpp)
  set(bundled_include include/amp/bundled)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/nnvm_amp-config.cmake.in"
                                "${PROJECT_BINARY_DIR}/${name}-config.cmake" INSTALL_DESTINATION ${package_dir}
                                PATH_VARS bundled_include NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/${name}-config-version.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/${name}-config.cmake" "${PROJECT_BINARY_DIR}/${name}-config-version.cmake"
          DESTINATION ${package_dir} COMPONENT cpp)
  amp_install_pkg_config(${name})
endfunction()

# <name>.pc, for builds that do not use CMake. It finds its prefix from the place where it lies.
function(amp_install_pkg_config name)
  file(RELATIVE_PATH amp_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" amp_pc_prefix "${amp_pc_prefix}")
  amp_is_from_python(fmt fmt_is_from_python)
  if(fmt_is_from_python)
    set(amp_pc_fmt "\"-I\${includedir}/amp/bundled\" -DFMT_HEADER_ONLY=1")
    set(amp_pc_requires "")
  else()
    set(amp_pc_fmt "-DFMT_HEADER_ONLY=1")
    set(amp_pc_requires "fmt >= 9")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/nnvm_amp.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT cpp)
endfunction()

# `make wheel`: auditwheel adds the libgomp that oneDNN needs, and names the wheel after the glibc that is needed.
function(amp_prepare_for_auditwheel name)
  target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/old_hypot.cc")
  target_link_options(${name} PRIVATE -Wl,--wrap=hypot)
endfunction()

# What include/amp/*.h, the headers for C++ users, include, and nothing else. They include fmt's and nothing else of others.
function(amp_install_headers destination)
  file(GLOB faces CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/amp/*.h")
  install(FILES ${faces} DESTINATION ${destination} COMPONENT cpp)
  amp_included_headers(headers ${faces})
  foreach(header IN LISTS headers)
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${PROJECT_SOURCE_DIR}/src/${header}" DESTINATION ${destination}/${folder} COMPONENT cpp)
  endforeach()
endfunction()

# Sets <result> to the headers of src/, relative to it, that these files include, at whatever distance.
function(amp_included_headers result)
  set(found "")
  set(unread ${ARGN})
  while(unread)
    list(POP_FRONT unread file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" header "${line}")
      if(EXISTS "${PROJECT_SOURCE_DIR}/src/${header}" AND NOT header IN_LIST found)
        list(APPEND found "${header}")
        list(APPEND unread "${PROJECT_SOURCE_DIR}/src/${header}")
      endif()
    endforeach()
  endwhile()
  list(SORT found)
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Copies of fmt's headers and of libdnnl, for a prefix that needs nothing else.
function(amp_install_borrowed destination)
  amp_is_from_python(fmt fmt_is_from_python)
  if(fmt_is_from_python)
    get_target_property(folders fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
    find_path(amp_fmt_include fmt/format.h PATHS ${folders} NO_DEFAULT_PATH NO_CACHE REQUIRED)
    install(DIRECTORY "${amp_fmt_include}/fmt" DESTINATION ${destination}/bundled COMPONENT cpp)
  endif()
  amp_is_from_python(dnnl dnnl_is_from_python)
  if(dnnl_is_from_python)
    amp_install_onednn(${CMAKE_INSTALL_LIBDIR} ${CMAKE_INSTALL_DATADIR}/nnvm_amp/licenses COMPONENT cpp)
  endif()
endfunction()

# Further arguments go to install().
function(amp_install_onednn library_dir license_dir)
  install(FILES "$<TARGET_FILE:DNNL::dnnl>" RENAME "$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>"
          DESTINATION ${library_dir} ${ARGN})
  if(CMAKE_STRIP)  # a tenth of the file
    set(installed "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${library_dir}/$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>")
    install(CODE "execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"${installed}\")" ${ARGN})
  endif()
  if(amp_python_onednn_license)
    install(FILES "${amp_python_onednn_license}/LICENSE" "${amp_python_onednn_license}/THIRD-PARTY-PROGRAMS"
            DESTINATION ${license_dir}/onednn ${ARGN})
  endif()
endfunction()
