// Where the words of byte histories are kept, named by a number that fits into a cell.
//
// They are never given back to the system.
#pragma once

#include <stdint.h>

#include "runtime/platform/growing.h"
#include "runtime/watch/stacks.h"

namespace deadheat::watch {

struct Thread;

using HistoryNumber = uint32_t;  // 0: none

// Of 4, 8 or 16 words, which mean nothing yet. 0: there are no more. `thread` may be null.
inline constexpr uint32_t kFewestWords = 4;
HistoryNumber take_history(const Thread* thread, uint32_t words);
void give_back_history(const Thread* thread, HistoryNumber number);

uint64_t histories_in_use();

template <unsigned kWordsLog>
struct alignas(4u << kWordsLog) WordsOfOne {
  uint32_t word[1u << kWordsLog];
};
template <unsigned kWordsLog, unsigned kBits>
using Histories = platform::Growing<WordsOfOne<kWordsLog>, kBits, 21 - 2 - kWordsLog>;  // by huge pages

// A number says how many words there are: half of the numbers are for the fewest.
inline constexpr HistoryNumber kFirstOfFour = 1u << (kShapeBits - 1);
inline constexpr HistoryNumber kFirstOfEight = 1u << (kShapeBits - 2);
extern Histories<2, kShapeBits - 1> histories_of_four;
extern Histories<3, kShapeBits - 2> histories_of_eight;
extern Histories<4, kShapeBits - 2> histories_of_sixteen;

struct HistoryWords {
  uint32_t* word;
  uint32_t count;
};
inline HistoryWords words_of(HistoryNumber number) {
  if (number >= kFirstOfFour) return {histories_of_four[number - kFirstOfFour].word, 4};
  if (number >= kFirstOfEight) return {histories_of_eight[number - kFirstOfEight].word, 8};
  return {histories_of_sixteen[number].word, 16};
}

}  // namespace deadheat::watch
