# No -march=native: a binary runs on every CPU of its kind. Only files of src/kernels/ named for an instruction set may
# use it, and they are called after a check at run time.

# Names a variable of flags for each set.
set(amp_flags_avx2 -mavx2 -mfma -mf16c)
set(amp_flags_avx512 ${amp_flags_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
set(amp_flags_avx512bf16 ${amp_flags_avx512} -mavx512bf16)
set(amp_flags_avx512vnni ${amp_flags_avx512bf16} -mavx512vnni)  # which only layers in bfloat16 use
set(amp_flags_avx512amx ${amp_flags_avx512bf16} -mamx-tile -mamx-bf16)

function(amp_set_instruction_sets)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(file IN LISTS ARGN)
    if(file MATCHES "_(avx2|avx512|avx512bf16|avx512vnni|avx512amx)\\.cc$")
      set_source_files_properties("${file}" PROPERTIES COMPILE_OPTIONS "${amp_flags_${CMAKE_MATCH_1}}"
                                  SKIP_PRECOMPILE_HEADERS ON)  # which are compiled without these options
    endif()
  endforeach()
endfunction()

# What src/kernels/base/target.h asks of each target: its name in C++, instruction set, lanes, and whether it computes
# float32, bfloat16 and int16.
set(amp_target_generic Generic kGeneric 4 1 0 0)
set(amp_target_avx2 Avx2 kAvx2 8 1 0 1)
set(amp_target_avx512 Avx512 kAvx512 16 1 0 0)
set(amp_target_avx512bf16 Avx512BF16 kAvx512 16 0 1 0)
set(amp_target_avx512vnni Avx512VNNI kAvx512 16 0 0 1)

# Files *_isa.cc are compiled once for each target: those of a folder together, in a file that names the target. Replaces
# them in the list `variable` by such files.
function(amp_compile_for_targets variable)
  set(sources ${${variable}})
  set(made "")
  foreach(file IN LISTS sources)
    if(NOT file MATCHES "/kernels/([a-z0-9_]+)/[a-z0-9_]+_isa\\.cc$")
      continue()
    endif()
    set(folder "${CMAKE_MATCH_1}")
    list(REMOVE_ITEM ${variable} "${file}")
    amp_targets_of("${file}" targets)
    foreach(target IN LISTS targets)
      set(path "${PROJECT_BINARY_DIR}/kernels/${folder}_${target}.cc")
      if(NOT path IN_LIST made)
        list(APPEND made "${path}")
        list(GET amp_target_${target} 0 name)
        string(REPLACE ";" " " values "${amp_target_${target}}")
        string(REGEX REPLACE "([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+)" "#define AMP_TARGET \\1\n#define AMP_TARGET_ISA \\2\n#define AMP_TARGET_LANES \\3\n#define AMP_COMPUTES_FLOAT32 \\4\n#define AMP_COMPUTES_BF16 \\5\n#define AMP_COMPUTES_INT16 \\6\n" content_${folder}_${target} "${values}")
      endif()
      string(APPEND content_${folder}_${target} "#include \"${file}\"\n")
    endforeach()
  endforeach()
  foreach(path IN LISTS made)  # once each: a file keeps its time, and its object, where its content stays the same
    get_filename_component(name "${path}" NAME_WE)
    set(content "${content_${name}}")
    file(CONFIGURE OUTPUT "${path}" CONTENT "@content@" @ONLY)
  endforeach()
  set(${variable} ${${variable}} ${made} PARENT_SCOPE)
endfunction()

# The targets of one file: those that its first line names, `// targets: ...`, or the usual three.
function(amp_targets_of file result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" first LIMIT_COUNT 1)
  if(first MATCHES "^// targets: (.*)$")
    string(REPLACE " " ";" targets "${CMAKE_MATCH_1}")
  else()
    set(targets generic avx2 avx512)
  endif()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()
