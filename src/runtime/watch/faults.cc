// Faults of the program's own atomic operations, which the runtime does for it (atomics.cc).
//
// A program may handle them: a collector whose pages are protected makes them accessible and returns; who
// asks whether memory is there, or goes on after a test that crashed, jumps away. Either way the handler is
// the program's code, watched and ordered like other code. What the operation holds meanwhile, its granule,
// stays held for the operation to go on with; if the handler jumps away, it is let go of, with nothing done.
#include "runtime/watch/atomic_access.h"
#include "runtime/watch/quiet.h"
#include "runtime/watch/shadow.h"

namespace deadheat::lane {
namespace {

using namespace deadheat::watch;

// What stands in `Interrupted`.
enum Word { kInside, kLocked, kQuietGranule, kLeft };

// The granule that is locked for the operation that touches `address`; null if it needs none.
FatCell* locked_for(const Thread* thread, uintptr_t address) {
  if (thread->atomic_access != nullptr) return thread->atomic_access->locked();
  const Chunk* const chunk = existing_chunk(address);
  if (chunk == nullptr) return nullptr;
  DhCell const seen = load_cell(&chunk->cells[cell_index(address)]);
  if (!is_fat(seen) || is_bytewise(seen)) return nullptr;
  FatCell* const fat = fat_of(seen);
  return fat->lock.version() % 2 != 0 ? fat : nullptr;
}

}  // namespace

Interrupted fault_beginning(const void* address, bool) {
  Interrupted interrupted{};
  Thread* const thread = current_thread;
  if (thread == nullptr || thread->inside == 0) return interrupted;
  uint64_t* const word = interrupted.words;
  word[kInside] = thread->inside;
  word[kQuietGranule] = quiet_granule_of(thread);
  if (word[kQuietGranule] == 0)
    word[kLocked] = reinterpret_cast<uint64_t>(locked_for(thread, reinterpret_cast<uintptr_t>(address)));
  thread->inside = 0;
  return interrupted;
}

void fault_ended(const Interrupted& interrupted) {
  const uint64_t* const word = interrupted.words;
  if (word[kInside] == 0) return;
  Thread* const thread = current_thread;
  thread->inside = static_cast<uint32_t>(word[kInside]);
  set_quiet_granule_of(thread, word[kQuietGranule]);
  // It has jumped, but not away.
  if (word[kLeft] != 0 && word[kLocked] != 0) reinterpret_cast<FatCell*>(word[kLocked])->lock.lock();
}

void fault_left(Interrupted* interrupted) {
  uint64_t* const word = interrupted->words;
  if (word[kInside] == 0 || word[kLeft] != 0) return;
  word[kLeft] = 1;
  Thread* const thread = current_thread;
  set_quiet_granule_of(thread, 0);
  if (word[kLocked] != 0) reinterpret_cast<FatCell*>(word[kLocked])->lock.unlock();
  thread->atomic_access = nullptr;
}

}  // namespace deadheat::lane
