# Where things are installed. `cmake --install` is for C++ users: headers, library, CMake package nnvm_amp
# (component `cpp`). Component `python`, only installed when named, fills the package folder amp/ of a wheel.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# A wheel carries a copy of libdnnl: `pip install --target` drops the one that onednn-cpu-gomp brings, because
# it lies in <prefix>/lib. It is used only where the package's own is missing (see the order in the RPATH).
if(DEFINED SKBUILD AND amp_python_dnnl AND dnnl_DIR STREQUAL amp_python_dnnl)
  set(amp_bundle_default ON)
else()
  set(amp_bundle_default OFF)
endif()
option(AMP_BUNDLE_ONEDNN "Install a copy of libdnnl beside the Python extension" ${amp_bundle_default})

# Relative to site-packages/amp: first <prefix>/lib, where onednn-cpu-gomp puts libdnnl, then the folder itself.
# CMake replaces the build tree's paths by these when it installs.
set(AMP_PYTHON_RPATH "$ORIGIN/../../..;$ORIGIN;${CMAKE_INSTALL_RPATH}")
list(REMOVE_ITEM AMP_PYTHON_RPATH "")

function(amp_install_library name)
  if(AMP_BUILD_PYTHON)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${AMP_PYTHON_RPATH}")
  else()  # for C++ alone: the oneDNN that it was linked to
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN;${CMAKE_INSTALL_RPATH}"
                                             INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION amp COMPONENT python EXCLUDE_FROM_ALL)
  if(AMP_BUNDLE_ONEDNN)
    amp_install_onednn()
  endif()

  install(TARGETS ${name} EXPORT ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cpp)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/src/" DESTINATION include/${name} COMPONENT cpp
          FILES_MATCHING PATTERN "*.h")
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(EXPORT ${name} NAMESPACE ${name}:: FILE ${name}-targets.cmake DESTINATION ${package_dir}
          COMPONENT cpp)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/nnvm_amp-config.cmake.in"
                                "${PROJECT_BINARY_DIR}/${name}-config.cmake" INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/${name}-config-version.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/${name}-config.cmake" "${PROJECT_BINARY_DIR}/${name}-config-version.cmake"
          DESTINATION ${package_dir} COMPONENT cpp)
endfunction()

function(amp_install_onednn)
  install(FILES "$<TARGET_FILE:DNNL::dnnl>" RENAME "$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>" DESTINATION amp
          COMPONENT python EXCLUDE_FROM_ALL)
  if(amp_python_onednn_license)
    install(FILES "${amp_python_onednn_license}/LICENSE" "${amp_python_onednn_license}/THIRD-PARTY-PROGRAMS"
            DESTINATION amp/licenses/onednn COMPONENT python EXCLUDE_FROM_ALL)
  endif()
endfunction()
