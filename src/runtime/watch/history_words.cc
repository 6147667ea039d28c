#include "runtime/watch/history_words.h"

#include "runtime/platform/cache_line.h"
#include "runtime/platform/growing.h"
#include "runtime/platform/spinlock.h"
#include "runtime/watch/stacks.h"
#include "runtime/watch/thread.h"

namespace deadheat::watch {
namespace {

// Those of one size.
template <unsigned kWordsLog, unsigned kBits>
class Histories {
 public:
  static constexpr uint32_t kWords = 1u << kWordsLog;

  uint32_t* at(uint32_t number) { return histories_[number].word; }

  uint32_t take(const Thread* thread) {
    uint32_t number = take_from(list_of(thread));
    if (number == 0) number = take_from(common_);
    return number != 0 ? number : histories_.append("shadow memory");
  }
  void give_back(const Thread* thread, uint32_t number) {
    if (!add_to(list_of(thread), number, kMostOfOwn)) add_to(common_, number, ~0u);
  }
  uint64_t in_use() const {
    uint64_t count = histories_.count() - __atomic_load_n(&common_.count, __ATOMIC_RELAXED);
    for (const List& list : own_) count -= __atomic_load_n(&list.count, __ATOMIC_RELAXED);
    return count;
  }

 private:
  static constexpr uint32_t kOwnLists = 64;
  static constexpr uint32_t kMostOfOwn = 64;
  static constexpr unsigned kHugePageLog = 21;

  struct alignas(kWords * sizeof(uint32_t)) Words {
    uint32_t word[kWords];  // the first: the next free one
  };
  struct alignas(platform::kLine) List {
    platform::Spinlock lock;
    uint32_t count;
    uint32_t first;
  };

  List& list_of(const Thread* thread) { return own_[thread != nullptr ? thread->slot % kOwnLists : 0]; }
  uint32_t take_from(List& list) {
    platform::SpinGuard const guard(list.lock);
    uint32_t const taken = list.first;
    if (taken == 0) return 0;
    __atomic_store_n(&list.count, list.count - 1, __ATOMIC_RELAXED);
    list.first = histories_[taken].word[0];
    return taken;
  }
  bool add_to(List& list, uint32_t number, uint32_t most) {
    platform::SpinGuard const guard(list.lock);
    if (list.count == most) return false;
    __atomic_store_n(&list.count, list.count + 1, __ATOMIC_RELAXED);
    histories_[number].word[0] = list.first;
    list.first = number;
    return true;
  }

  platform::Growing<Words, kBits, kHugePageLog - 2 - kWordsLog> histories_;
  List own_[kOwnLists];
  List common_;
};

// A number says how large it is: half of them are of the smallest.
constexpr unsigned kSmallBits = kShapeBits - 1;
constexpr unsigned kMiddleBits = kShapeBits - 2;
constexpr uint32_t kFirstSmall = 1u << kSmallBits;
constexpr uint32_t kFirstMiddle = 1u << kMiddleBits;
Histories<2, kSmallBits> small;
Histories<3, kMiddleBits> middle;
Histories<4, kMiddleBits> large;

constexpr HistoryNumber from(uint32_t first, uint32_t number) { return number != 0 ? first + number : 0; }

}  // namespace

HistoryWords words_of(HistoryNumber number) {
  if (number >= kFirstSmall) return {small.at(number - kFirstSmall), small.kWords};
  if (number >= kFirstMiddle) return {middle.at(number - kFirstMiddle), middle.kWords};
  return {large.at(number), large.kWords};
}

HistoryNumber take_history(const Thread* thread, uint32_t words) {
  if (words == small.kWords) return from(kFirstSmall, small.take(thread));
  if (words == middle.kWords) return from(kFirstMiddle, middle.take(thread));
  return large.take(thread);
}

void give_back_history(const Thread* thread, HistoryNumber number) {
  if (number >= kFirstSmall) return small.give_back(thread, number - kFirstSmall);
  if (number >= kFirstMiddle) return middle.give_back(thread, number - kFirstMiddle);
  large.give_back(thread, number);
}

uint64_t histories_in_use() { return small.in_use() + middle.in_use() + large.in_use(); }

}  // namespace deadheat::watch
