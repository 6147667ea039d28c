// The arena: the memory that a recorded program shares with its writer (runtime/record_abi.h), as the writer
// sees it.
//
// The program may scribble over it: it is a program with bugs, and that is why it is recorded. Nothing here
// trusts a number in it further than the memory goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/record_abi.h"

namespace deadheat::recording {

class Arena {
 public:
  // A new one, without slots; the program makes those.
  static Result<std::unique_ptr<Arena>> create();
  // One that a program made. Takes the descriptor, also on an error.
  static Result<std::unique_ptr<Arena>> attach(int descriptor);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return descriptor_; }
  DhArena& header() { return *header_; }
  // How many slots there are now; all of them can be used until the next call.
  std::uint32_t slots();
  // REQUIRES: slot < the last result of slots().
  DhRecord& slot(std::uint32_t slot);
  // The ring's bytes [from, from + size), by their ever-growing offsets: one piece, or two where the ring
  // ends. REQUIRES: size <= kDhRingBytes.
  struct Pieces {
    std::span<const char> first, second;
  };
  Pieces bytes(std::uint32_t slot, std::uint64_t from, std::uint64_t size) const;

  // Waits until the program wakes the writer or the time has passed. `seen`: writer_wake when the caller last
  // looked.
  void sleep(std::uint32_t seen, unsigned milliseconds);
  void wake_writer();
  // Wakes a program that waits for room in this slot.
  void wake_program(std::uint32_t slot);

 private:
  Arena() = default;
  bool map(std::uint32_t slots);

  int descriptor_ = -1;
  DhArena* header_ = nullptr;
  char* slots_memory_ = nullptr;
  std::uint32_t mapped_slots_ = 0;
};

// The arena's numbers change while we look.
template <class T>
T load_acquire(const T& place) {
  return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
}
template <class T>
void store_release(T& place, T value) {
  __atomic_store_n(&place, value, __ATOMIC_RELEASE);
}

}  // namespace deadheat::recording
