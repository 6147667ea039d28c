// What the numbers of the format are called, and items as lines of text.
#pragma once

#include <string>

#include "recording/item.h"

namespace deadheat::recording {

// "lock acquired", "atomic add", ...
std::string to_string(SequencerKind kind);
const char* to_string(NoteKind kind);
const char* to_string(EndKind kind);

// One line, without the predicted values before it.
std::string to_text(const Item& item);

}  // namespace deadheat::recording
