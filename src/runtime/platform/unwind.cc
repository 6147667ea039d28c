#include "runtime/platform/unwind.h"

#include <unwind.h>

// Programs in C++ have the unwinder of libgcc already; others do without.
extern "C" __attribute__((weak)) _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn, void*);
extern "C" __attribute__((weak)) uintptr_t _Unwind_GetIP(struct _Unwind_Context*);

namespace deadheat::platform {
namespace {

struct Walk {
  uintptr_t from;
  uintptr_t* pcs;
  unsigned max;
  unsigned count;
};

_Unwind_Reason_Code step(struct _Unwind_Context* context, void* argument) {
  auto* const walk = static_cast<Walk*>(argument);
  uintptr_t const pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  if (walk->count == 0 && pc != walk->from) return _URC_NO_REASON;  // our own frames
  walk->pcs[walk->count++] = pc;
  return walk->count < walk->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

unsigned unwind_from(uintptr_t from, uintptr_t* pcs, unsigned max) {
  if (_Unwind_Backtrace == nullptr || _Unwind_GetIP == nullptr) return 0;
  Walk walk{from, pcs, max, 0};
  _Unwind_Backtrace(step, &walk);
  return walk.count;
}

}  // namespace deadheat::platform
