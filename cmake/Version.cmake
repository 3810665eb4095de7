# amp_version: the numbers of the Python package's version, 1.2.3. Both come from git's tags (v1.2.3); commits behind a tag
# count as the next patch. pip's build passes the version on. Otherwise it comes from git, or from the note that
# `git archive` leaves, or it is the fallback of pyproject.toml.

function(amp_describe source_dir result)
  set(${result} "" PARENT_SCOPE)
  find_program(GIT git)
  if(GIT AND EXISTS "${source_dir}/.git")
    execute_process(COMMAND "${GIT}" -C "${source_dir}" describe --tags --long --dirty --match "v[0-9]*"
                    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    set(${result} "${described}" PARENT_SCOPE)
  elseif(EXISTS "${source_dir}/.git_archival.txt")
    file(STRINGS "${source_dir}/.git_archival.txt" line REGEX "^describe-name: ")
    string(REPLACE "describe-name: " "" line "${line}")
    set(${result} "${line}" PARENT_SCOPE)
  endif()
endfunction()

function(amp_find_version source_dir result)
  amp_describe("${source_dir}" described)
  if(SKBUILD_PROJECT_VERSION)
    set(version "${SKBUILD_PROJECT_VERSION}")
  elseif(described MATCHES "^v([0-9]+\\.[0-9]+)\\.([0-9]+)(-0-g[0-9a-f]+)?$")
    set(version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}")
  elseif(described MATCHES "^v([0-9]+\\.[0-9]+)\\.([0-9]+)-")
    math(EXPR patch "${CMAKE_MATCH_2} + 1")
    set(version "${CMAKE_MATCH_1}.${patch}")
  else()
    file(STRINGS "${source_dir}/pyproject.toml" line REGEX "^fallback_version = ")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${line}")
  endif()
  set(${result} "${version}" PARENT_SCOPE)
endfunction()
