# Flags of everything that is compiled here: link to `amp_options`.

add_library(amp_options INTERFACE)
target_compile_features(amp_options INTERFACE cxx_std_20)
target_compile_options(amp_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${AMP_WERROR}>:-Werror>
  # a*b+c rounds twice on every machine: results must not depend on which compiler found an FMA
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC warns about std::string without cause: "text" + std::string (its bug 105651), and more so where <string> is
  # precompiled. AddressSanitizer (`make asan`) finds what these warnings are for.
  target_compile_options(amp_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()

if(AMP_SANITIZE)
  set(amp_sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  target_compile_options(amp_options INTERFACE ${amp_sanitize} -fno-omit-frame-pointer -O1)
  target_link_options(amp_options INTERFACE ${amp_sanitize})
endif()

# No -march=native: a binary runs on every CPU of its kind. Only the files of src/kernels/ named for an
# instruction set may use it, and they are called after a check at run time.
function(amp_set_instruction_sets)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  set(avx512bf16 ${avx512} -mavx512bf16)
  set(avx512vnni ${avx512bf16} -mavx512vnni)  # which only layers in bfloat16 use
  set(avx512amx ${avx512bf16} -mamx-tile -mamx-bf16)
  foreach(file IN LISTS ARGN)
    if(file MATCHES "_(avx2|avx512|avx512bf16|avx512vnni|avx512amx)\\.cc$")
      set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${${CMAKE_MATCH_1}}"
                                  SKIP_PRECOMPILE_HEADERS ON)  # which are compiled without these options
    endif()
  endforeach()
endfunction()
