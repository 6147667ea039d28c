# deadheat_library(trace SOURCES a.cc b.cc LINKS base): one static library per stage, tests found by name.
#
# Every `x_test.cc` in the stage's folder becomes part of one test binary, `deadheat_<stage>_tests`.
function(deadheat_library stage)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;TEST_LINKS" ${ARGN})
  set(target deadheat_${stage})
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${target} ${scope} deadheat_options ${ARG_LINKS})

  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(tests)
    add_executable(${target}_tests ${tests})
    target_link_libraries(${target}_tests PRIVATE ${target} ${ARG_TEST_LINKS} GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${target}_tests TEST_PREFIX ${stage}. DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
include(GoogleTest)
