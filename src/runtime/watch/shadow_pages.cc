// Which pages of shadow get memory, and when.
//
// A page that is only asked for when it is needed is asked for twice: the hook has looked at it before, so
// that the kernel has mapped its page of zeroes there, and to replace that by memory interrupts the other
// processors that the program runs on, which takes ten times as long as all the rest. Pages that nobody has
// looked at yet cost nothing of that, and come many at a time. So others are asked for with the one that is
// needed:
//
//   - where pages are touched one after the other, a quarter of what is in use right before them;
//   - where a program jumps about, what is around them, once a quarter of it is in use, here and there.
//
// And what is in use becomes huge pages: who jumps about in a large table would otherwise wait for the page
// tables of its shadow, too.
#include "runtime/platform/memory.h"
#include "runtime/watch/shadow.h"
#include "runtime/watch/unwritable.h"

namespace deadheat::watch {

using platform::kHugePage;

namespace {

// Kernels before 5.14 do not know it, and there may be no memory to be had: then page by page, as needed.
constexpr int kPopulateWrite = 23;
// Kernels before 6.1 do not know it; then there are no huge pages of what is in use.
constexpr int kCollapse = 25;

bool is_untouched(const Chunk* chunk, size_t page) {
  return __atomic_load_n(&chunk->page_state[page], __ATOMIC_RELAXED) == kUntouched;
}

// Some neighbouring pages of a chunk.
class Stretch {
 public:
  // REQUIRES: they are the chunk's.
  Stretch(Chunk* chunk, size_t first, size_t count) : chunk_(chunk), first_(first), count_(count) {}

  void* begin() const { return &chunk_->cells[first_ * kPageCells]; }
  size_t bytes() const { return count_ * 4096; }

  size_t touched() const {
    size_t count = 0;
    for (size_t i = 0; i < count_; ++i) count += is_untouched(i) ? 0 : 1;
    return count;
  }
  // Is what was touched in many places, and not some runs that grow?
  bool is_touched_here_and_there() const {
    size_t ends = 0;
    for (size_t i = 1; i < count_; ++i) ends += is_untouched(i) != is_untouched(i - 1) ? 1 : 0;
    return ends >= count_ / 16;
  }
  // May what is untouched be expected to be touched, too?
  bool will_be_touched() const { return touched() >= count_ / 4 && is_touched_here_and_there(); }

  bool advise(int advice) const { return !platform::failed(platform::sys_madvise(begin(), bytes(), advice)); }
  // All of them have memory now.
  void set_ready() const {
    for (size_t i = 0; i < count_; ++i) {
      uint8_t expected = kUntouched;
      __atomic_compare_exchange_n(&chunk_->page_state[first_ + i], &expected, uint8_t{kReady}, false,
                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
  }
  void populate() const {
    if (advise(kPopulateWrite)) set_ready();
  }

 protected:
  bool is_untouched(size_t i) const { return watch::is_untouched(chunk_, first_ + i); }

  Chunk* chunk_;
  size_t first_;
  size_t count_;
};

// The huge page around one of a chunk's pages.
class HugePage : public Stretch {
 public:
  static constexpr size_t kPages = kHugePage / 4096;

  HugePage(Chunk* chunk, size_t page) : Stretch(chunk, 0, kPages) {
    auto const cells = reinterpret_cast<uintptr_t>(chunk->cells);
    uintptr_t const at = (cells + page * 4096) & ~(kHugePage - 1);
    is_whole_ = at >= cells && at + kHugePage <= cells + sizeof chunk->cells;
    if (is_whole_) first_ = (at - cells) / 4096;
  }

  // Does all of it belong to the chunk? REQUIRED by everything else.
  bool is_whole() const { return is_whole_; }
  // Two of them, so that what may be asked for in vain is little beside what is used.
  bool has_joined_before_it() const {
    return first_ >= 2 * kPages && *joined(first_ - kPages) != 0 && *joined(first_ - 2 * kPages) != 0;
  }
  // False: that was done before.
  bool set_joined() const { return __atomic_exchange_n(joined(first_), uint8_t{1}, __ATOMIC_RELAXED) == 0; }
  // `advice` while it may be a huge page.
  bool advise_huge(int advice) const {
    advise(MADV_HUGEPAGE);
    bool const done = advise(advice);
    advise(MADV_NOHUGEPAGE);
    return done;
  }

 private:
  uint8_t* joined(size_t first) const { return &chunk_->joined[first / kPages]; }

  bool is_whole_;
};

// How many pages to ask for from `page` on; 1: the neighbourhood does not look as if more would be needed. A
// quarter of those that are in use right before it: what is asked for in vain is little beside what is used,
// however many buffers there are that are larger than what comes into them. The next huge page is not begun
// that way: see begin_huge_page.
size_t pages_to_expect(const Chunk* chunk, size_t page) {
  auto const touched = [chunk](size_t at) { return at < kChunkPages && !is_untouched(chunk, at); };
  constexpr size_t kMost = 64;
  constexpr size_t kShare = 4;
  size_t before = 0;
  while (before < kMost * kShare && touched(page - before - 1)) ++before;
  size_t count = 1;
  auto const begins_huge_page = [chunk](size_t at) {
    return reinterpret_cast<uintptr_t>(&chunk->cells[at * kPageCells]) % kHugePage == 0;
  };
  while (count < before / kShare && page + count < kChunkPages && !touched(page + count) &&
         !begins_huge_page(page + count))
    ++count;
  return count;
}

// The first touch behind huge pages: memory that was used so far is likely to be used further, and nothing
// has to be copied then. False: not so.
bool begin_huge_page(const HugePage& huge) {
  if (!huge.has_joined_before_it() || huge.touched() != 1 || !huge.set_joined()) return false;
  if (!huge.advise_huge(kPopulateWrite)) return false;
  huge.set_ready();
  return true;
}

// One huge page of what is in use nearly whole, or half in many places. What is not in use yet has memory
// then, too.
bool join_pages(const HugePage& huge) {
  constexpr size_t kEighth = HugePage::kPages / 8;
  size_t const touched = huge.touched();
  bool const may_join =
      touched >= 7 * kEighth || (touched >= 4 * kEighth && huge.is_touched_here_and_there());
  if (!may_join || !huge.set_joined() || !huge.advise_huge(kCollapse)) return false;
  huge.set_ready();
  return true;
}

// The same of less, which stays pages.
void populate_around(Chunk* chunk, size_t page) {
  constexpr size_t kPages = 64;
  static_assert(kChunkPages % kPages == 0);
  Stretch const around(chunk, page / kPages * kPages, kPages);
  if (around.will_be_touched()) around.populate();
}

// The first page of several that get memory, perhaps.
void get_memory(Chunk* chunk, size_t page) {
  HugePage const huge(chunk, page);
  if (huge.is_whole() && begin_huge_page(huge)) return;
  size_t const count = pages_to_expect(chunk, page);
  if (count != 1) Stretch(chunk, page, count).populate();
  if (huge.is_whole() && join_pages(huge)) return;
  populate_around(chunk, page);
}
}  // namespace

void touch_page(Chunk* chunk, size_t page) {
  uint8_t const before = __atomic_exchange_n(&chunk->page_state[page], uint8_t{kWritten}, __ATOMIC_RELAXED);
  if (before == kUntouched) get_memory(chunk, page);
  if (before != kWritten) begin_page_if_unwritable(chunk, page);
}

}  // namespace deadheat::watch
