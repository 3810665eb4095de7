# The extension module amp.<name> from python/amp/csrc/*.cc. It lies beside libnnvm_amp.so in the installed package.

function(amp_add_python_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/amp/csrc/*.cc")
  list(SORT sources)
  # NO_EXTRAS: no link-time optimisation and no stripping; the work is done in libnnvm_amp.so
  pybind11_add_module(${name} MODULE NO_EXTRAS ${sources})
  amp_precompile(${name} <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h>)
  amp_compile_together(${name})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # it converts arguments; the work is done elsewhere
  target_link_libraries(${name} PRIVATE nnvm_amp amp_options nlohmann_json::nlohmann_json)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden INSTALL_RPATH "${AMP_PYTHON_RPATH}")
  install(TARGETS ${name} LIBRARY DESTINATION amp COMPONENT python EXCLUDE_FROM_ALL)
endfunction()

# The target `amp_python`: the extension, and the types of the functions that amp.sym makes at run time. These go into the
# package with it. An instrumented extension cannot be loaded by a plain interpreter: there are no types then.
function(amp_add_python_target module)
  set(stub "")
  if(NOT AMP_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
    set(script "${PROJECT_SOURCE_DIR}/tools/make_stubs.py")
    set(sym "${PROJECT_SOURCE_DIR}/python/amp/sym")
    set(stub "${PROJECT_BINARY_DIR}/stubs/sym/__init__.pyi")
    add_custom_command(OUTPUT "${stub}"
      COMMAND "${Python_EXECUTABLE}" "${script}" "$<TARGET_FILE:${module}>" "${stub}"
      DEPENDS ${module} "${script}" "${sym}/__init__.py" "${sym}/namespaces.py"
      COMMENT "Writing type stubs" VERBATIM)
    install(FILES "${stub}" DESTINATION amp/sym COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  add_custom_target(amp_python ALL DEPENDS ${stub})
  add_dependencies(amp_python ${module})
endfunction()
