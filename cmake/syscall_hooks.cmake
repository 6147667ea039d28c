# Assembler text that defines every function of <sanitizer/linux_syscall_hooks.h> as one that does nothing, but those that
# do something.
#
#   HEADER  the header, of the compiler that programs are compiled with
#   SOURCE  where those are that do something
#   OUTPUT  the text
file(READ ${HEADER} text)
string(REGEX MATCHALL "__sanitizer_syscall_(pre|post)_impl_[A-Za-z0-9_]+" names "${text}")
list(REMOVE_DUPLICATES names)
list(LENGTH names count)
if(count LESS 100)
  message(FATAL_ERROR "${HEADER}: expected the hooks of system calls, found ${count}")
endif()
file(READ ${SOURCE} source)
string(REGEX MATCHALL "__sanitizer_syscall_(pre|post)_impl_[A-Za-z0-9_]+" others "${source}")
list(REMOVE_ITEM names ${others})
set(text "        .section .note.GNU-stack, \"\", @progbits\n        .text\n")
foreach(name IN LISTS names)
  string(APPEND text "        .weak   ${name}\n        .hidden ${name}\n        .type   ${name}, @function\n${name}:\n")
endforeach()
string(APPEND text "        endbr64\n        ret\n")
file(WRITE ${OUTPUT} "${text}")
