// What compiled functions of the C++ library write by instructions of their own.
//
// What they write through memcpy and its kin the runtime has told (recording::LibraryAccess). But a string's
// length and pointer, a character that is appended alone, the links of lists and trees are written by plain
// stores inside the library, which nobody sees before the program loads them. Until then what the image has
// there is out of date, and must not be taken for what is there.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "replay/memory_image.h"

namespace deadheat::replay::live {

enum class UnseenWrites : std::uint8_t { kNone, kString, kList, kTree };

// Of the function of this (mangled) name.
UnseenWrites unseen_writes_of(std::string_view function);

struct Extent {
  Address address;
  std::uint64_t size = 0;
};

// What a call with these arguments may have written, as far as `image`, which is as it was before the call,
// leads there. `end_of_block`: where the heap block around an address ends, or the address itself.
std::vector<Extent> extents_of(UnseenWrites kind, std::span<const std::uint64_t> arguments,
                               const MemoryImage& image, const std::function<Address(Address)>& end_of_block);

}  // namespace deadheat::replay::live
