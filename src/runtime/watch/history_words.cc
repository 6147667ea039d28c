#include "runtime/watch/history_words.h"

#include "runtime/platform/cache_line.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {

Histories<2, kShapeBits - 1> histories_of_four;
Histories<3, kShapeBits - 2> histories_of_eight;
Histories<4, kShapeBits - 2> histories_of_sixteen;

namespace {

// The free ones of one size; the first word of each is the next one.
class FreeHistories {
 public:
  // `first`: their lowest number but one.
  constexpr explicit FreeHistories(HistoryNumber first) : first_(first) {}

  template <class All>
  HistoryNumber take(const Thread* thread, All& all) {
    uint32_t number = take_from(list_of(thread), all);
    if (number == 0) number = take_from(common_, all);
    if (number == 0) number = all.append("shadow memory");
    return number != 0 ? first_ + number : 0;
  }
  template <class All>
  void give_back(const Thread* thread, All& all, HistoryNumber number) {
    if (!add_to(list_of(thread), all, number - first_, kMostOfOwn))
      add_to(common_, all, number - first_, ~0u);
  }
  uint64_t count() const {
    uint64_t count = __atomic_load_n(&common_.count, __ATOMIC_RELAXED);
    for (const List& list : own_) count += __atomic_load_n(&list.count, __ATOMIC_RELAXED);
    return count;
  }

 private:
  static constexpr uint32_t kOwnLists = 64;
  static constexpr uint32_t kMostOfOwn = 64;

  struct alignas(platform::kLine) List {
    platform::Spinlock lock;
    uint32_t count = 0;
    uint32_t first = 0;
  };

  List& list_of(const Thread* thread) { return own_[thread != nullptr ? thread->slot % kOwnLists : 0]; }
  template <class All>
  static uint32_t take_from(List& list, All& all) {
    platform::SpinGuard const guard(list.lock);
    uint32_t const taken = list.first;
    if (taken == 0) return 0;
    __atomic_store_n(&list.count, list.count - 1, __ATOMIC_RELAXED);
    list.first = all[taken].word[0];
    return taken;
  }
  template <class All>
  static bool add_to(List& list, All& all, uint32_t number, uint32_t most) {
    platform::SpinGuard const guard(list.lock);
    if (list.count == most) return false;
    __atomic_store_n(&list.count, list.count + 1, __ATOMIC_RELAXED);
    all[number].word[0] = list.first;
    list.first = number;
    return true;
  }

  HistoryNumber first_;
  List own_[kOwnLists];
  List common_;
};
FreeHistories free_of_four(kFirstOfFour);
FreeHistories free_of_eight(kFirstOfEight);
FreeHistories free_of_sixteen(0);

}  // namespace

HistoryNumber take_history(const Thread* thread, uint32_t words) {
  if (words == 4) return free_of_four.take(thread, histories_of_four);
  if (words == 8) return free_of_eight.take(thread, histories_of_eight);
  return free_of_sixteen.take(thread, histories_of_sixteen);
}

void give_back_history(const Thread* thread, HistoryNumber number) {
  if (number >= kFirstOfFour) return free_of_four.give_back(thread, histories_of_four, number);
  if (number >= kFirstOfEight) return free_of_eight.give_back(thread, histories_of_eight, number);
  free_of_sixteen.give_back(thread, histories_of_sixteen, number);
}

uint64_t histories_in_use() {
  uint64_t const made =
      uint64_t{histories_of_four.count()} + histories_of_eight.count() + histories_of_sixteen.count();
  return made - free_of_four.count() - free_of_eight.count() - free_of_sixteen.count();
}

}  // namespace deadheat::watch
