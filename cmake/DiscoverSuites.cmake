# What CTest includes when it starts: a test for each suite of the GoogleTest binary `binary`, and for each piece of a
# large one. A process for each of the 4,000 tests would take longer to start than most of them run.
#
# Variables: `binary`, `prefix` and `suffix` (of the names of tests), `folder` (where tests run), `environment` (a list
# of NAME=value).

set(piece 64)  # most tests of one process

execute_process(COMMAND "${binary}" --gtest_list_tests WORKING_DIRECTORY "${folder}" TIMEOUT 60
                OUTPUT_VARIABLE listing ERROR_VARIABLE problem RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "'${binary} --gtest_list_tests' ended with '${result}': ${problem}")
endif()

# Lines "Suite." and "  Test"; values of parameters stand behind a '#' and may have what CMake takes for lists.
string(REGEX REPLACE " *#[^\n]*" "" listing "${listing}")
string(REPLACE "\n" ";" lines "${listing}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^  .")
    math(EXPR count_${suite} "${count_${suite}} + 1")
  elseif(line MATCHES "^([^ ]+)\\.$")
    set(suite "${CMAKE_MATCH_1}")
    list(APPEND suites "${suite}")
    set(count_${suite} 0)
  endif()
endforeach()
if(NOT suites)
  message(FATAL_ERROR "'${binary}' lists no tests")
endif()

foreach(suite IN LISTS suites)
  math(EXPR pieces "(${count_${suite}} + ${piece} - 1) / ${piece}")
  foreach(index RANGE 1 ${pieces})
    set(name "${prefix}${suite}${suffix}")
    if(pieces GREATER 1)
      string(APPEND name ".${index}of${pieces}")
    endif()
    math(EXPR shard "${index} - 1")
    add_test("${name}" "${binary}" "--gtest_filter=${suite}.*")
    set_tests_properties("${name}" PROPERTIES WORKING_DIRECTORY "${folder}" TIMEOUT 600
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${pieces};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endforeach()
