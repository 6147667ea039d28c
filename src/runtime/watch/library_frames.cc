#include "runtime/watch/library_frames.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/unwind.h"

namespace deadheat::watch {
namespace {

using platform::CodeRange;

// --- Instrumented modules. Few; a program that loads more of them than this gets no library frames for the
//     others' sake.
constexpr unsigned kModules = 32;
CodeRange modules[kModules];
unsigned module_count;
bool too_many;
platform::Spinlock modules_lock;

// --- What was found before. One table for all threads: entries are written whole under a version, and
//     whoever meets one being written unwinds.
constexpr unsigned kDepth = 8;  // frames of libraries, at most
struct Remembered {
  uint32_t version;  // odd while being written
  uint32_t count;    // of places below; 0: there is nothing to be found
  uintptr_t pc;
  uintptr_t from;
  uintptr_t innermost;            // the return address of the innermost instrumented function
  uint32_t distance[kDepth + 2];  // of each return address from the frame, in bytes
  uintptr_t library_pc[kDepth];   // the first ones; then the one in the program, then `innermost`
};
constexpr unsigned kRememberedBits = 12;
// Entries that are looked through for one call: unwinding takes as long as a hundred look-ups, so that two
// places must not take each other's entry in turn. They may also be of one call that is reached in several
// ways within the library.
constexpr unsigned kWays = 4;
using Set = Remembered[kWays];
Set remembered[(1u << kRememberedBits) / kWays];

Set& entries_for(uintptr_t pc, uintptr_t from, uintptr_t innermost) {
  uint64_t const h =
      (pc * 0x9E3779B97F4A7C15ull) ^ (from * 0xD6E8FEB86659FD93ull) ^ (innermost * 0xC2B2AE3D27D4EB4Full);
  return remembered[((h ^ h >> 29) * 0x9E3779B97F4A7C15ull >> (64 - kRememberedBits)) / kWays];
}

// The return addresses from `pc` to the innermost function's own, innermost first.
struct Chain {
  uintptr_t pcs[kDepth + 2];
  unsigned count;
};

uintptr_t word_at(const char* frame, uint32_t distance) {
  return *reinterpret_cast<const uintptr_t*>(frame + distance);
}

enum class Known { kNo, kNothingThere, kYes };

Known recall(const Remembered& entry, uintptr_t pc, uintptr_t from, uintptr_t innermost, const char* frame,
             Chain* chain) {
  uint32_t const version = __atomic_load_n(&entry.version, __ATOMIC_ACQUIRE);
  if ((version & 1) != 0 || entry.pc != pc || entry.from != from || entry.innermost != innermost)
    return Known::kNo;
  // Copied before anything is looked for at its distances: what is half another entry's may lead anywhere.
  Remembered copy;
  __builtin_memcpy_inline(&copy, &entry, sizeof copy);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (__atomic_load_n(&entry.version, __ATOMIC_RELAXED) != version) return Known::kNo;
  if (copy.count == 0) return Known::kNothingThere;
  if (word_at(frame, copy.distance[copy.count - 1]) != innermost) return Known::kNo;
  for (unsigned i = 0; i + 2 < copy.count; ++i) {
    if (word_at(frame, copy.distance[i]) != copy.library_pc[i]) return Known::kNo;
    chain->pcs[i] = copy.library_pc[i];
  }
  uintptr_t const in_program = word_at(frame, copy.distance[copy.count - 2]);
  if (!is_instrumented(in_program)) return Known::kNo;
  chain->pcs[copy.count - 2] = in_program;
  chain->pcs[copy.count - 1] = innermost;
  chain->count = copy.count;
  return Known::kYes;
}

Known recall_any(const Set& entries, uintptr_t pc, uintptr_t from, uintptr_t innermost, const char* frame,
                 Chain* chain) {
  for (const Remembered& entry : entries) {
    Known const known = recall(entry, pc, from, innermost, frame, chain);
    if (known != Known::kNo) return known;
  }
  return Known::kNo;
}

// In place of the one that was written least often, so that they take turns.
void remember(Set& entries, Remembered& found) {
  Remembered* least = entries;
  for (Remembered& other : entries) {
    if (__atomic_load_n(&other.version, __ATOMIC_RELAXED) <
        __atomic_load_n(&least->version, __ATOMIC_RELAXED))
      least = &other;
  }
  Remembered& entry = *least;
  uint32_t version = __atomic_load_n(&entry.version, __ATOMIC_RELAXED);
  if ((version & 1) != 0 || !__atomic_compare_exchange_n(&entry.version, &version, version + 1, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  found.version = version + 1;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  __builtin_memcpy_inline(&entry, &found, sizeof entry);
  __atomic_store_n(&entry.version, version + 2, __ATOMIC_RELEASE);
}

// False if the innermost instrumented function cannot be found within reach.
bool walk(uintptr_t pc, uintptr_t innermost, const char* frame, Chain* chain, Remembered* found) {
  constexpr unsigned kMax = kDepth + 2;
  const uintptr_t* places[kMax];
  unsigned const count = platform::unwind_from(pc, chain->pcs, kMax, places);
  for (unsigned i = 0; i < count; ++i) {
    uintptr_t const distance = reinterpret_cast<uintptr_t>(places[i]) - reinterpret_cast<uintptr_t>(frame);
    if (distance > (uint32_t{1} << 20)) return false;
    found->distance[i] = static_cast<uint32_t>(distance);
    if (i != 0 && chain->pcs[i] == innermost) {
      chain->count = found->count = i + 1;
      return is_instrumented(chain->pcs[i - 1]);
    }
    if (i < kDepth) found->library_pc[i] = chain->pcs[i];
  }
  return false;
}

}  // namespace

void note_instrumented(uintptr_t address) {
  if (is_instrumented(address)) return;
  CodeRange range;
  if (!platform::code_range_at(address, &range)) {
    __atomic_store_n(&too_many, true, __ATOMIC_RELAXED);
    return;
  }
  platform::SpinGuard const guard(modules_lock);
  if (module_count == kModules) {
    too_many = true;
    return;
  }
  modules[module_count] = range;
  __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

bool nothing_is_instrumented() {
  return __atomic_load_n(&module_count, __ATOMIC_ACQUIRE) == 0 &&
         !__atomic_load_n(&too_many, __ATOMIC_RELAXED);
}

bool is_known_as_instrumented(uintptr_t address) {
  unsigned const count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; ++i) {
    if (address >= modules[i].begin && address < modules[i].end) return true;
  }
  return false;
}

bool is_instrumented(uintptr_t address) { return is_known_as_instrumented(address) || too_many; }

void LibraryFrames::push(Thread* thread, uintptr_t pc, const void* frame_address, const void* from_address) {
  DhHot* const hot = thread->hot;
  if (hot->next_frame <= thread->frames || hot->next_frame + kDepth + 2 > thread->frames_end) return;
  auto const innermost = reinterpret_cast<uintptr_t>(hot->next_frame[-1].return_address);
  auto const from = reinterpret_cast<uintptr_t>(from_address);
  const auto* const frame = static_cast<const char*>(frame_address);
  Set& entries = entries_for(pc, from, innermost);
  Chain chain;
  Known const known = recall_any(entries, pc, from, innermost, frame, &chain);
  if (known == Known::kNothingThere) return;
  if (known == Known::kNo) {
    Remembered found{};
    found.pc = pc;
    found.from = from;
    found.innermost = innermost;
    bool const is_there = walk(pc, innermost, frame, &chain, &found);
    if (!is_there) found.count = 0;
    remember(entries, found);
    if (!is_there) return;
  }
  // Outermost first. The first of the chain is the access's own, the last one has its frame already.
  for (unsigned i = chain.count - 1; i-- > 1;) {
    DhFrame* const pushed = hot->next_frame++;
    pushed->return_address = reinterpret_cast<const void*>(chain.pcs[i]);
    pushed->context = 0;
    pushed->has_variables = 0;
  }
}

}  // namespace deadheat::watch
