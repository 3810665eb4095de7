# Flags of everything that is compiled here: link to `amp_options`.

add_library(amp_options INTERFACE)
target_compile_features(amp_options INTERFACE cxx_std_20)
target_compile_options(amp_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${AMP_WERROR}>:-Werror>
  # a*b+c rounds twice on every machine: results must not depend on which compiler found an FMA
  -ffp-contract=off)
# Plan files say which build made them.
target_link_options(amp_options INTERFACE -Wl,--build-id=sha1)
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
