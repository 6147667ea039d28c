#include "runtime/watch/frame_stacks.h"

#include "runtime/platform/memory.h"
#include "runtime/platform/spinlock.h"
#include "runtime/platform/syscalls.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

uint32_t known_frame_stacks;

namespace {

using platform::SpinGuard;

platform::Spinlock stacks_lock;

// --- Their memory: by powers of two, used again last in first out.

constexpr unsigned kLeastBits = 16;  // what the smallest stacks get
constexpr unsigned kMostBits = 40;
struct Free {
  Free* next;
};
Free* free_frames[kMostBits + 1];

unsigned bits_for(size_t bytes) {
  unsigned bits = kLeastBits;
  while ((size_t{1} << bits) < bytes) ++bits;
  return bits;
}

// Beyond the end of a thread's is nobody's memory. Contexts may be too many for that: mappings are counted.
constexpr size_t guard_of(unsigned bits) { return bits > kLeastBits ? 4096 : 0; }

void* take_frames(unsigned bits) {
  {
    SpinGuard const guard(stacks_lock);
    if (Free* const found = free_frames[bits]) {
      free_frames[bits] = found->next;
      found->next = nullptr;
      return found;
    }
  }
  void* const frames = platform::try_map_pages(size_t{1} << bits);
  if (frames != nullptr && guard_of(bits) != 0)
    platform::syscall6(SYS_mprotect,
                       reinterpret_cast<long>(frames) + (1l << bits) - static_cast<long>(guard_of(bits)),
                       static_cast<long>(guard_of(bits)), PROT_NONE);
  return frames;
}

void give_frames(void* frames, unsigned bits) {
  constexpr unsigned kKeptBits = kLeastBits;  // as it is; of larger ones the kernel gets the pages back
  if (bits > kKeptBits) platform::sys_madvise(frames, size_t{1} << bits, MADV_DONTNEED);
  auto* const block = static_cast<Free*>(frames);
  SpinGuard const guard(stacks_lock);
  block->next = free_frames[bits];
  free_frames[bits] = block;
}

// --- By address. A stack of at most 2^k bytes, and more than half of that, lies in one or two of the aligned
// pieces of 2^k bytes; it is on the list of each.

constexpr unsigned kBucketBits = 16;
FrameStack::Link* buckets[1u << kBucketBits];
uint64_t classes_in_use;  // a bit for every k

unsigned class_of(uintptr_t low, uintptr_t high) {
  unsigned k = 9;
  while ((uintptr_t{1} << k) < high - low) ++k;
  return k;
}
FrameStack::Link*& bucket_of(unsigned k, uintptr_t address) {
  uint64_t const piece = (address >> k) * 64 + k;
  return buckets[piece * 0x9e3779b97f4a7c15u >> (64 - kBucketBits)];
}

// All of these REQUIRE stacks_lock.

void know(FrameStack* stack, uintptr_t low, uintptr_t high) {
  stack->low = low;
  stack->high = high;
  unsigned const k = class_of(low, high);
  classes_in_use |= uint64_t{1} << k;
  uintptr_t const ends[] = {low, high - 1};
  for (unsigned i = 0; i < 2; ++i) {
    FrameStack::Link*& first = bucket_of(k, ends[i]);
    stack->links[i] = {stack, first};
    first = &stack->links[i];
  }
  __atomic_store_n(&known_frame_stacks, known_frame_stacks + 1, __ATOMIC_RELAXED);
}

void forget(FrameStack* stack) {
  if (stack->high == 0) return;
  unsigned const k = class_of(stack->low, stack->high);
  uintptr_t const ends[] = {stack->low, stack->high - 1};
  for (unsigned i = 0; i < 2; ++i) {
    FrameStack::Link** link = &bucket_of(k, ends[i]);
    while (*link != &stack->links[i]) link = &(*link)->next;
    *link = stack->links[i].next;
  }
  stack->low = stack->high = 0;
  __atomic_store_n(&known_frame_stacks, known_frame_stacks - 1, __ATOMIC_RELAXED);
}

// Smallest first. `visit` returns true to end the search; then the stack is returned.
template <class Visit>
FrameStack* find(uintptr_t address, Visit visit) {
  for (uint64_t classes = classes_in_use; classes != 0; classes &= classes - 1) {
    auto const k = static_cast<unsigned>(__builtin_ctzll(classes));
    for (FrameStack::Link* link = bucket_of(k, address); link != nullptr; link = link->next) {
      FrameStack* const stack = link->stack;
      if (address - stack->low < stack->high - stack->low && visit(stack)) return stack;
    }
  }
  return nullptr;
}

// What is saved is the stack pointer inside the call that switches, a little below the one it was left with.
bool was_left_at(const FrameStack* stack, uintptr_t at) {
  constexpr uintptr_t kCall = 256;
  return stack->left_at - at < kCall;
}

// Of what nobody runs; `left` is where the thread comes from, and may stay.
FrameStack* stack_at(uintptr_t at, FrameStack* left) {
  FrameStack* any = nullptr;
  FrameStack* const found = find(at, [&](FrameStack* stack) {
    if (stack->is_run) return false;
    if (any == nullptr || stack == left) any = stack;
    return was_left_at(stack, at);
  });
  return found != nullptr ? found : any;
}

}  // namespace

FrameStack* frame_stack_make(size_t stack_bytes) {
  // An instrumented function takes at least 16 bytes of stack; half the stack's size in frames of 32 bytes
  // has never been seen to be short, twice the stack's size cannot be. The least is what is tried last when
  // memory is short.
  unsigned bits = bits_for(stack_bytes * 2);
  void* frames = nullptr;
  for (;; --bits) {
    frames = take_frames(bits);
    if (frames != nullptr || bits == kLeastBits) break;
  }
  if (frames == nullptr) return nullptr;
  auto* const stack = platform::make<FrameStack>();
  stack->bytes = size_t{1} << bits;
  stack->frames = static_cast<DhFrame*>(frames) + 1;
  stack->end = static_cast<DhFrame*>(frames) + (stack->bytes - guard_of(bits)) / sizeof(DhFrame);
  stack->next = stack->frames;
  return stack;
}

void frame_stack_free(FrameStack* stack) {
  {
    SpinGuard const guard(stacks_lock);
    forget(stack);
  }
  give_frames(stack->frames - 1, bits_for(stack->bytes));
  platform::destroy(stack);
}

void frame_stack_begin(uintptr_t low, size_t size, uintptr_t at) {
  if (size == 0) return;
  uintptr_t const high = low + size;
  FrameStack* stack = nullptr;
  {
    SpinGuard const guard(stacks_lock);
    stack = find(low, [&](FrameStack* known) { return known->low == low && known->high == high; });
    if (stack != nullptr) {
      // Made again where one was; if that is the one that runs, its frames stay as they are.
      if (stack->is_run) return;
      stack->next = stack->frames;
      stack->left_at = at;
      return;
    }
  }
  frame_stacks_end_in(low, size);
  stack = frame_stack_make(size);
  if (stack == nullptr) return;
  stack->left_at = at;
  SpinGuard const guard(stacks_lock);
  know(stack, low, high);
}

void frame_stack_switch(Thread* thread, uintptr_t from, uintptr_t to, bool is_over) {
  DhHot* const hot = thread->hot;
  FrameStack* const left = thread->frame_stack;
  FrameStack* reached = nullptr;
  bool is_gone = false;
  {
    SpinGuard const guard(stacks_lock);
    // A thread's own stack is known as soon as there is another one to tell it from.
    if (left->high == 0 && left->is_home && thread->has_on_stack(from))
      know(left, thread->stack_low, thread->stack_high);
    left->next = hot->next_frame;
    left->left_at = from;
    left->is_run = false;
    reached = stack_at(to, left);
    // To nowhere that is known: on the thread's own, rather than on a stack of somebody else.
    if (reached == nullptr) reached = thread->home_frames->is_run ? left : thread->home_frames;
    reached->is_run = true;
    is_gone = is_over && left != reached && !left->is_home;
  }
  if (reached != left) {
    thread->frame_stack = reached;
    thread->frames = reached->frames;
    thread->frames_end = reached->end;
    hot->next_frame = reached->next;
  }
  if (is_gone) frame_stack_free(left);
}

void frame_stacks_end_in_some(uintptr_t low, size_t size) {
  constexpr size_t kLeastStack = 512;
  constexpr size_t kMostPieces = size_t{1} << 16;
  if (size < kLeastStack) return;
  for (;;) {
    FrameStack* gone = nullptr;
    {
      SpinGuard const guard(stacks_lock);
      for (uint64_t classes = classes_in_use; classes != 0 && gone == nullptr; classes &= classes - 1) {
        auto const k = static_cast<unsigned>(__builtin_ctzll(classes));
        if ((size_t{1} << k) / 2 > size || size >> k > kMostPieces) continue;
        for (uintptr_t piece = low >> k; piece <= (low + size - 1) >> k && gone == nullptr; ++piece) {
          for (FrameStack::Link* link = bucket_of(k, piece << k); link != nullptr; link = link->next) {
            FrameStack* const stack = link->stack;
            if (stack->is_run || stack->is_home || stack->low < low || stack->high > low + size) continue;
            gone = stack;
            break;
          }
        }
      }
    }
    if (gone == nullptr) return;
    frame_stack_free(gone);
  }
}

}  // namespace deadheat::watch
