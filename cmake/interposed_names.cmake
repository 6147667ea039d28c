# The names that object files export, in one of three forms:
#
#   KIND=dynlist  { name; ... };   for -Wl,--dynamic-list
#   KIND=wrap     --wrap=name      for every __wrap_name, as a response file
#   KIND=list     name
#
# The objects stand after `--` on the command line.
set(OBJECTS)
set(seen FALSE)
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(seen AND NOT "${CMAKE_ARGV${i}}" STREQUAL "")
    list(APPEND OBJECTS ${CMAKE_ARGV${i}})
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(seen TRUE)
  endif()
endforeach()
execute_process(COMMAND ${READELF} --symbols --wide ${OBJECTS} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "cannot read the symbols of ${OBJECTS}")
endif()
#    Num:    Value          Size Type    Bind   Vis       Ndx Name
string(REGEX MATCHALL "(FUNC|OBJECT|TLS|NOTYPE) +(GLOBAL|WEAK) +DEFAULT +[0-9]+ [^ \n]+" lines "${symbols}")
set(names)
foreach(line IN LISTS lines)
  string(REGEX REPLACE ".* " "" name "${line}")
  list(APPEND names ${name})
endforeach()
list(SORT names)
list(REMOVE_DUPLICATES names)

set(text "")
if(KIND STREQUAL "dynlist")
  string(APPEND text "{\n")
endif()
foreach(name IN LISTS names)
  if(KIND STREQUAL "dynlist")
    string(APPEND text "  ${name};\n")
  elseif(KIND STREQUAL "list")
    string(APPEND text "${name}\n")
  elseif(name MATCHES "^__wrap_(.*)$")
    string(APPEND text "--wrap=${CMAKE_MATCH_1}\n")
  endif()
endforeach()
if(KIND STREQUAL "dynlist")
  string(APPEND text "};\n")
endif()
file(WRITE ${OUTPUT} "${text}")
