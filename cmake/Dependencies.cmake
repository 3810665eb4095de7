# Finds oneDNN, fmt, nlohmann/json, threads and, for the extension, Python and pybind11.
#
# Each is looked for in this order:
#   1. where the user points (<name>_DIR, <name>_ROOT, CMAKE_PREFIX_PATH);
#   2. in the Python packages of the interpreter (`pip install` puts them there);
#   3. in the system.

if(AMP_BUILD_PYTHON)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
else()
  find_package(Python 3.10 QUIET COMPONENTS Interpreter)
endif()

# Sets amp_python_<name> to the folder in which a Python package keeps that dependency.
if(Python_Interpreter_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/python_packages.py"
    OUTPUT_VARIABLE amp_python_packages OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" amp_python_packages "${amp_python_packages}")
  foreach(line IN LISTS amp_python_packages)
    string(REGEX MATCH "^([^=]+)=(.*)$" line "${line}")
    if(NOT DEFINED amp_python_${CMAKE_MATCH_1})  # who builds a wheel may say it: tools/make_wheels.py
      set(amp_python_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
endif()

set(amp_rejected "")  # "name version (path)" of everything found but too old, for the message at the end

macro(amp_note_rejected name)
  foreach(config version IN ZIP_LISTS ${name}_CONSIDERED_CONFIGS ${name}_CONSIDERED_VERSIONS)
    if(NOT ${name}_FOUND)
      list(APPEND amp_rejected "${name} ${version} (${config})")
      message(STATUS "${name} ${version} is too old or does not fit: ${config}")
    endif()
  endforeach()
endmacro()

# A macro, because what a package's CMake file sets must reach this folder.
macro(amp_find name version)
  find_package(${name} ${version} CONFIG QUIET NO_CMAKE_PACKAGE_REGISTRY NO_SYSTEM_ENVIRONMENT_PATH
               NO_CMAKE_SYSTEM_PATH NO_CMAKE_INSTALL_PREFIX NO_CMAKE_SYSTEM_PACKAGE_REGISTRY)
  amp_note_rejected(${name})
  if(NOT ${name}_FOUND AND amp_python_${name})
    find_package(${name} ${version} CONFIG QUIET PATHS "${amp_python_${name}}" NO_DEFAULT_PATH)
    amp_note_rejected(${name})
  endif()
  if(NOT ${name}_FOUND)
    find_package(${name} ${version} CONFIG QUIET)
    amp_note_rejected(${name})
  endif()
  if(${name}_FOUND)
    message(STATUS "${name} ${${name}_VERSION}: ${${name}_DIR}")
  endif()
endmacro()

set(amp_missing "")

amp_find(dnnl 3.1...<4)
if(NOT dnnl_FOUND)
  list(APPEND amp_missing "oneDNN >= 3.1, < 4 (pip install onednn-devel-cpu-gomp==2023.2.0, or a system's package)")
elseif(DNNL_CPU_THREADING_RUNTIME AND NOT DNNL_CPU_THREADING_RUNTIME STREQUAL "OMP")
  message(WARNING "This oneDNN runs its threads with ${DNNL_CPU_THREADING_RUNTIME}. The library lends its own threads to "
                  "builds for GNU's OpenMP only, so num_threads will not reach oneDNN.")
endif()

amp_find(fmt 9)
if(NOT fmt_FOUND)
  list(APPEND amp_missing "fmt >= 9 (pip install cmeel-fmt, Debian: libfmt-dev)")
endif()

amp_find(nlohmann_json 3.9)
if(NOT nlohmann_json_FOUND AND amp_python_nlohmann_json_include)
  message(STATUS "nlohmann_json: ${amp_python_nlohmann_json_include}")
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE "${amp_python_nlohmann_json_include}")
elseif(NOT nlohmann_json_FOUND)
  list(APPEND amp_missing "nlohmann/json >= 3.9 (pip install nlohmann-json, Debian: nlohmann-json3-dev)")
endif()

if(AMP_BUILD_PYTHON)
  set(PYBIND11_FINDPYTHON ON)
  amp_find(pybind11 2.12)
  if(NOT pybind11_FOUND)
    list(APPEND amp_missing "pybind11 >= 2.12 (pip install pybind11)")
  endif()
endif()

if(amp_missing)
  list(JOIN amp_missing "\n  " amp_missing)
  if(amp_rejected)
    list(REMOVE_DUPLICATES amp_rejected)
    list(JOIN amp_rejected "\n  " amp_rejected)
    string(APPEND amp_missing "\nFound, but too old or not fitting:\n  ${amp_rejected}")
  endif()
  message(FATAL_ERROR "Not found:\n  ${amp_missing}\n"
    "Install them where CMake looks (CMAKE_PREFIX_PATH=<folder>), or for the interpreter ${Python_EXECUTABLE}.")
endif()

find_package(Threads REQUIRED)
