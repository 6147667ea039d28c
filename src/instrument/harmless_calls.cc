#include "instrument/harmless_calls.h"

#include <llvm/ADT/StringSet.h>

namespace deadheat::instrument {

using namespace llvm;

bool is_harmless_library_function(StringRef name) {
  static const StringSet<>* const names = new StringSet<>{
      // Time passes; nobody is told.
      "usleep", "nanosleep", "clock_nanosleep", "sleep", "sched_yield", "clock_gettime", "clock_getres",
      "gettimeofday", "time", "clock", "times", "difftime", "localtime_r", "gmtime_r",
      "_ZNSt6chrono3_V212"
      "steady_clock3nowEv",
      "_ZNSt6chrono3_V212system_clock3nowEv",
      // Who am I?
      "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "pthread_self",
      "pthread_equal", "thrd_current", "thrd_equal", "sched_getcpu", "sysconf", "getpagesize", "getrusage",
      "get_nprocs", "getenv", "secure_getenv",
      // Numbers, characters, text.
      "random_r", "rand_r", "drand48_r", "lrand48_r", "erand48", "nrand48", "jrand48", "lgamma_r",
      "lgammaf_r", "lgammal_r", "strtold", "strtoimax", "strtoumax", "wcstol", "wcstoul", "wcstod", "wcsncmp",
      "wcschr", "wcsrchr", "wcsstr", "wcscpy", "wcsncpy", "wmemmove", "wmemchr", "strcoll", "strxfrm",
      "strsep", "strtok_r", "strlcpy", "strlcat", "memccpy", "swab", "iswalpha", "iswdigit", "iswalnum",
      "iswspace", "iswupper", "iswlower", "towlower", "towupper", "mbrtowc", "wcrtomb", "mbstowcs",
      "wcstombs", "mbrlen", "btowc", "wctob", "inet_pton", "inet_ntop", "inet_addr",
      // Where nothing but their own arguments is looked at.
      "sigemptyset", "sigfillset", "sigaddset", "sigdelset", "sigismember", "pthread_attr_init",
      "pthread_attr_destroy", "pthread_attr_setdetachstate", "pthread_attr_setstacksize",
      "pthread_mutexattr_init", "pthread_mutexattr_destroy", "pthread_mutexattr_settype",
      "pthread_condattr_init", "pthread_condattr_destroy", "pthread_condattr_setclock", "pthread_getspecific",
      "tss_get", "__cxa_get_globals", "__cxa_get_globals_fast", "__dynamic_cast", "__tls_get_addr",
      // Memory: the allocator orders what one owner of a block did before what the next one does, and that
      // the runtime hears of by malloc and free, which these call.
      "_Znwm", "_Znam", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZnwmRKSt9nothrow_t",
      "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
      "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t",
      "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
      // Containers: trees, lists, tables of hashes.
      "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
      "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
      "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
      "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
      "_ZNSt8__detail15_List_node_base7_M_hookEPS0_", "_ZNSt8__detail15_List_node_base9_M_unhookEv",
      "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", "_ZNSt8__detail15_List_node_base10_M_reverseEv",
      "_ZNSt8__detail15_List_node_base4swapERS0_S1_",
      "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm",
      "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", "_ZSt11_Hash_bytesPKvmm"};
  return names->contains(name);
}

}  // namespace deadheat::instrument
