// Where the words of byte histories are kept, named by a number that fits into a cell.
//
// They are never given back to the system. Each thread has lists of free ones (shared with others where there
// are many threads), and there are common ones.
#pragma once

#include <stdint.h>

namespace deadheat::watch {

struct Thread;

struct HistoryWords {
  uint32_t* word;
  uint32_t count;
};

using HistoryNumber = uint32_t;  // 0: none

HistoryWords words_of(HistoryNumber number);

inline constexpr uint32_t kFewestWords = 4;
// Of 4, 8 or 16 words, which mean nothing yet. 0: there are no more. `thread` may be null.
HistoryNumber take_history(const Thread* thread, uint32_t words);
void give_back_history(const Thread* thread, HistoryNumber number);

uint64_t histories_in_use();

}  // namespace deadheat::watch
