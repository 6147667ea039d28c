# The lanes' inlined hooks as bitcode, carried inside the plugin (see inline_hooks.h).
        .section .rodata
.macro carry lane, file
        .globl  deadheat_\lane\()_bitcode
        .globl  deadheat_\lane\()_bitcode_end
        .hidden deadheat_\lane\()_bitcode
        .hidden deadheat_\lane\()_bitcode_end
        .balign 16
deadheat_\lane\()_bitcode:
        .incbin "\file"
deadheat_\lane\()_bitcode_end:
.endm
        carry   watch, DEADHEAT_WATCH_BITCODE
        carry   monitor, DEADHEAT_MONITOR_BITCODE
        carry   record, DEADHEAT_RECORD_BITCODE
        .section .note.GNU-stack, "", @progbits
