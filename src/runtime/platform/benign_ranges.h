// Memory in which the program declared races benign. Its user's lock protects it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/platform/memory.h"

namespace deadheat::platform {

class BenignRanges {
 public:
  void add(uintptr_t address, size_t size) {
    auto* const range = make<Range>();
    *range = {first_, address, size};
    first_ = range;
  }
  bool contains(uintptr_t address) const {
    for (const Range* r = first_; r != nullptr; r = r->next) {
      if (address >= r->address && address - r->address < r->size) return true;
    }
    return false;
  }

 private:
  struct Range {
    Range* next;
    uintptr_t address;
    size_t size;
  };
  Range* first_ = nullptr;
};

}  // namespace deadheat::platform
