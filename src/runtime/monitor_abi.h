// The hook interface of the monitor lane: everything that code instrumented with --deadheat-mode=monitor may
// call.
//
// As abi.h is for the watch lane, this header is used by both sides of the line, and a change of any
// signature, layout or meaning is a new DEADHEAT_ABI_VERSION (the version is one for all lanes).
// docs/monitor.md says where the hooks stand.
//
// A *monitor* says: this thread is in an interference-free region of an access to these bytes (a write if the
// monitor is strong). Instrumented code starts monitors; the runtime stops them at releases.
#pragma once

#include "runtime/abi.h"

// Nonzero while monitors are to be started: more than one thread runs, and sampling says so. Every place that
// starts monitors looks at this first; when it is zero, that load and a branch are all the place costs. While
// it is not, it is the number of a tick << kDhMonitorCountBits, plus how many monitors a place may start in a
// thread during that tick; or all ones: any number.
DH_C __attribute__((visibility("default"))) uint64_t __dh_monitor_gate;

enum {
  // How many monitors each place started is counted in a table of so many words; places whose numbers collide
  // share one.
  kDhMonitorPlaces = 512,
  kDhMonitorCountBits = 8,
};

enum {
  kDhMonitorWaits = 1u << 31,  // in `active`: a race waits to be told until this thread has made its access
  kDhMonitorKept = 1,          // in `kept`: some monitors are to live through the release that comes
  kDhMonitorAhead = 2,         // in `kept`: some accesses are certain, and made only after it
};

// What the inlined parts read of the current thread.
typedef struct DhMonitorHot {
  uint32_t active;                  // how many monitors this thread has, and kDhMonitorWaits
  uint32_t kept;                    // kDhMonitorKept, kDhMonitorAhead
  uint64_t used[kDhMonitorPlaces];  // as the gate: a tick, and a count; a place starts one while this is less
} DhMonitorHot;

DH_C __attribute__((visibility("default"), tls_model("initial-exec"))) __thread DhMonitorHot __dh_monitor_hot;

// What a monitor is about, in one constant:
//   bits 0..8    the place's number, for `used`
//   bit  9       strong
//   bits 10..15  size in bytes, up to kDhMonitorMaxPoint (points only)
//   bit  16      prompt: the access is made before the thread comes to this place again
enum {
  kDhMonitorPlaceMask = kDhMonitorPlaces - 1,
  kDhMonitorStrong = 1 << 9,
  kDhMonitorSizeShift = 10,
  kDhMonitorSizeMask = 63,
  kDhMonitorPrompt = 1 << 16,
  kDhMonitorMaxPoint = 32,  // more bytes are a range
};

// Starts a monitor, unless the place has used up what it may. Called behind the gate; the call has the source
// line of the access that the monitor stands for.
DH_HOOK void __dh_monitor_start(const void* address, uint32_t what);
DH_HOOK void __dh_monitor_start_range(const void* address, size_t size, uint32_t what);
DH_HOOK void __dh_monitor_start_strided(const void* address, size_t size, int64_t stride, uint64_t count,
                                        uint32_t what);
DH_HOOK DH_SLOW void __dh_monitor_start_slow(const void* address, uint32_t what);

// Before an instruction that releases: stops all monitors of this thread but those that were kept.
DH_HOOK void __dh_monitor_release(void);
DH_HOOK DH_SLOW void __dh_monitor_release_slow(void);
// Before an operation that releases and does not acquire: the bytes are accessed after it for certain, so
// their monitor (started if need be) lives on. `__dh_monitor_kept` stands behind the operation.
DH_HOOK void __dh_monitor_keep(const void* address, uint32_t what);
DH_HOOK DH_SLOW void __dh_monitor_keep_slow(const void* address, uint32_t what);
// `__dh_monitor_ahead` stands before every such operation with certain accesses behind it.
DH_HOOK void __dh_monitor_ahead(void);
// Both, and `__dh_monitor_kept`, for an instruction that keeps nothing: what it releases, and what is ahead.
DH_HOOK void __dh_monitor_release_ahead(void);
DH_HOOK DH_SLOW void __dh_monitor_release_ahead_slow(void);
DH_HOOK void __dh_monitor_kept(void);
DH_HOOK DH_SLOW void __dh_monitor_kept_slow(void);

// Before a call of code that may be invisible (not instrumented, and not known to tell the runtime of its
// releases), and before a return to such code: monitors end there.
DH_HOOK void __dh_monitor_calling(const void* function);
DH_HOOK DH_SLOW void __dh_monitor_calling_slow(const void* function);
// The same before a call of a function by whose name nothing is released: monitors end if it is not the C or
// C++ library's.
DH_HOOK void __dh_monitor_calling_known(const void* function);
DH_HOOK DH_SLOW void __dh_monitor_calling_known_slow(const void* function);
DH_HOOK void __dh_monitor_returning(const void* return_address);
DH_HOOK DH_SLOW void __dh_monitor_returning_slow(const void* return_address);

// In the eight bytes before an instrumented function's first instruction: code without it is invisible.
#define DEADHEAT_FUNCTION_MARK 0x7461656864616564ull /* "deadheat" */
