# The hooks' bitcode, carried inside the library (see hook_bitcode.h).
        .macro carry name, file
        .globl  \name
        .globl  \name\()_end
        .hidden \name
        .hidden \name\()_end
        .balign 16
\name:
        .incbin "\file"
\name\()_end:
        .endm

        .section .rodata
        carry deadheat_replay_hooks_bare, DEADHEAT_REPLAY_HOOKS_BARE
        carry deadheat_replay_hooks_observed, DEADHEAT_REPLAY_HOOKS_OBSERVED
        carry deadheat_replay_hooks_bare_tagged, DEADHEAT_REPLAY_HOOKS_BARE_TAGGED
        carry deadheat_replay_hooks_observed_tagged, DEADHEAT_REPLAY_HOOKS_OBSERVED_TAGGED
        carry deadheat_replay_hooks_live, DEADHEAT_REPLAY_HOOKS_LIVE
        .section .note.GNU-stack, "", @progbits
