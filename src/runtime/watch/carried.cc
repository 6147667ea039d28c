#include "runtime/watch/carried.h"

namespace deadheat::watch {

bool carried::in_peace_with_plain(const Thread* thread, FatCell* fat, uint64_t now) {
  const Record* const records = fat->records();
  for (unsigned i = 0; i < fat->count; ++i) {
    uint64_t const old = records[i].bits();
    if ((old & Record::kAtomic) != 0) continue;
    if (quick::over(thread, (old & Record::kEpoch) << kDhEpochShift)) return false;
    bool const conflict = ((old | now) & Record::kWrite) != 0 && (old & now & Record::kMask) != 0;
    if (conflict && !thread->ordered_after(Epoch::from_bits(old & Record::kEpoch))) return false;
  }
  return true;
}

bool nothing_to_do(const Thread* thread, const FatCell* fat, uint32_t version, const DhCell* cell,
                   uintptr_t address, Operation what) {
  unsigned count;
  const Record* records = fat->look_at_records(version, &count);
  if (records == nullptr) return false;
  // An atomic read is covered by any access of the present to these bytes.
  uint64_t const now = thread->epoch().bits();
  const Record* const end = records + count;
  for (;; ++records) {
    if (records == end) return false;
    uint64_t const old = records->bits();
    if ((old & Record::kEpoch) - now < uint64_t{1} << kDhLabelWindowBits && (~old & what.record_mask()) == 0)
      break;
  }
  const SyncVar* const sync = fat->syncs();
  LastRelease const release = fat->last_release();
  if (__atomic_load_n(&fat->owner, __ATOMIC_RELAXED) != cell || !fat->lock.still(version)) return false;
  if (sync != nullptr && knows_last_release(thread, release, address)) return true;
  // One object in the granule, and it is this one; memory of objects stays memory of objects.
  return sync != nullptr && sync->next == nullptr && sync->offset == (address & 7) &&
         sync->clock.all_known_to(thread->clock);
}

uint64_t load_done_generally(FatCell* fat, uintptr_t address, Operation what, uintptr_t pc, uint64_t value) {
  AtomicAccess access(current_thread, fat, address, what.size(), pc);
  access.load_done(what.order());
  return value;
}
void store_done_generally(FatCell* fat, uintptr_t address, Operation what, uintptr_t pc) {
  AtomicAccess access(current_thread, fat, address, what.size(), pc);
  access.store_done(what.order());
}
uint64_t modify_done_generally(FatCell* fat, uintptr_t address, Operation what, uintptr_t pc,
                               uint64_t value) {
  AtomicAccess access(current_thread, fat, address, what.size(), pc);
  access.modify_done(what.order());
  return value;
}

}  // namespace deadheat::watch
