#include "runtime/platform/unwind.h"

#include <dlfcn.h>
#include <unwind.h>

// Programs in C++ have the unwinder of libgcc already; others do without.
extern "C" __attribute__((weak)) _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn, void*);
extern "C" __attribute__((weak)) uintptr_t _Unwind_GetIP(struct _Unwind_Context*);
extern "C" __attribute__((weak)) uintptr_t _Unwind_GetCFA(struct _Unwind_Context*);
// glibc 2.35.
extern "C" __attribute__((weak)) int _dl_find_object(void*, struct dl_find_object*) noexcept;

namespace deadheat::platform {
namespace {

struct Walk {
  uintptr_t from;
  uintptr_t* pcs;
  unsigned max;
  unsigned count;
  const uintptr_t** places;
};

_Unwind_Reason_Code step(struct _Unwind_Context* context, void* argument) {
  auto* const walk = static_cast<Walk*>(argument);
  uintptr_t const pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  if (walk->count == 0 && pc != walk->from) return _URC_NO_REASON;  // our own frames
  // The frame's idea of its callee's frame: the return address is the word below.
  if (walk->places != nullptr)
    walk->places[walk->count] = reinterpret_cast<const uintptr_t*>(_Unwind_GetCFA(context)) - 1;
  walk->pcs[walk->count++] = pc;
  return walk->count < walk->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

unsigned unwind_from(uintptr_t from, uintptr_t* pcs, unsigned max, const uintptr_t** places) {
  if (_Unwind_Backtrace == nullptr || _Unwind_GetIP == nullptr) return 0;
  if (places != nullptr && _Unwind_GetCFA == nullptr) return 0;
  Walk walk{from, pcs, max, 0, places};
  _Unwind_Backtrace(step, &walk);
  return walk.count;
}

bool code_range_at(uintptr_t address, CodeRange* range) {
  if (_dl_find_object == nullptr) return false;
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  *range = {reinterpret_cast<uintptr_t>(found.dlfo_map_start),
            reinterpret_cast<uintptr_t>(found.dlfo_map_end)};
  return true;
}

}  // namespace deadheat::platform
