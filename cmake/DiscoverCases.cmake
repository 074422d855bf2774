# Writes OUTPUT, a script of ctest: one test for each quick case that `PROGRAM list cases` tells of. A case is judged by
# the program's exit status.
execute_process(COMMAND ${PROGRAM} list cases OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "validate +[^ ]+ +quick" cases "${list}")
if(NOT cases)
  message(FATAL_ERROR "${PROGRAM} list cases tells of no quick case to validate")
endif()
set(script "")
foreach(case IN LISTS cases)
  string(REGEX REPLACE "validate +([^ ]+) +quick" "\\1" name "${case}")
  set(processors 1)
  if(name MATCHES "threads")
    set(processors 2)
  endif()
  string(APPEND script "add_test([=[validate.${name}]=] [=[${PROGRAM}]=] validate ${name})\n"
    "set_tests_properties([=[validate.${name}]=] PROPERTIES TIMEOUT 600 LABELS slow COST 200 PROCESSORS ${processors})\n")
endforeach()
file(WRITE "${OUTPUT}" "${script}")
