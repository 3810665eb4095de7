# The extension module amp.<name> from python/amp/csrc/*.cc. It lies beside libnnvm_amp.so in the installed package.

function(amp_add_python_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/amp/csrc/*.cc")
  list(SORT sources)
  # NO_EXTRAS: no link-time optimisation and no stripping; the work is done in libnnvm_amp.so
  pybind11_add_module(${name} MODULE NO_EXTRAS ${sources})
  amp_precompile(${name} <pybind11/numpy.h> <pybind11/pybind11.h> <pybind11/stl.h>)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # it converts arguments; the work is done elsewhere
  target_link_libraries(${name} PRIVATE nnvm_amp amp_options nlohmann_json::nlohmann_json)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden INSTALL_RPATH "${AMP_PYTHON_RPATH}")
  install(TARGETS ${name} LIBRARY DESTINATION amp COMPONENT python EXCLUDE_FROM_ALL)
endfunction()
