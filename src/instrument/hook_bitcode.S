# The hooks' bitcode, carried inside the plugin (see inline_hooks.h).
        .section .rodata
        .globl  deadheat_hook_bitcode
        .globl  deadheat_hook_bitcode_end
        .hidden deadheat_hook_bitcode
        .hidden deadheat_hook_bitcode_end
        .balign 16
deadheat_hook_bitcode:
        .incbin DEADHEAT_HOOK_BITCODE
deadheat_hook_bitcode_end:
        .section .note.GNU-stack, "", @progbits
