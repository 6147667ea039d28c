#include "runtime/watch/history_words.h"

#include "runtime/watch/free_lists.h"

namespace deadheat::watch {

Histories<2, kShapeBits - 1> histories_of_four;
Histories<3, kShapeBits - 2> histories_of_eight;
Histories<4, kShapeBits - 2> histories_of_sixteen;

namespace {

// Of one size. The first word of a free one is the next one's number; numbers count from 1 here.
template <class All>
class FreeHistories {
 public:
  uint32_t take(const Thread* thread, All& all) {
    uint32_t const number = free_.take(
        thread, [&all](uint32_t free) { return all[free].word[0]; },
        [&all](uint32_t free) { return free != 0 ? &all[free] : nullptr; });
    return number != 0 ? number : all.append("shadow memory");
  }
  void give_back(const Thread* thread, All& all, uint32_t number) {
    free_.give_back(thread, number, [&](uint32_t next) { all[number].word[0] = next; });
  }
  uint64_t in_use(const All& all) const { return all.count() - free_.count(); }

 private:
  FreeLists<uint32_t, 64> free_;
};
FreeHistories<decltype(histories_of_four)> free_of_four;
FreeHistories<decltype(histories_of_eight)> free_of_eight;
FreeHistories<decltype(histories_of_sixteen)> free_of_sixteen;

constexpr HistoryNumber counted_from(HistoryNumber first, uint32_t number) {
  return number != 0 ? first + number : 0;
}

}  // namespace

HistoryNumber take_history(const Thread* thread, uint32_t words) {
  if (words == 4) return counted_from(kFirstOfFour, free_of_four.take(thread, histories_of_four));
  if (words == 8) return counted_from(kFirstOfEight, free_of_eight.take(thread, histories_of_eight));
  return free_of_sixteen.take(thread, histories_of_sixteen);
}

void give_back_history(const Thread* thread, HistoryNumber number) {
  if (number >= kFirstOfFour) return free_of_four.give_back(thread, histories_of_four, number - kFirstOfFour);
  if (number >= kFirstOfEight)
    return free_of_eight.give_back(thread, histories_of_eight, number - kFirstOfEight);
  free_of_sixteen.give_back(thread, histories_of_sixteen, number);
}

uint64_t histories_in_use() {
  return free_of_four.in_use(histories_of_four) + free_of_eight.in_use(histories_of_eight) +
         free_of_sixteen.in_use(histories_of_sixteen);
}

}  // namespace deadheat::watch
