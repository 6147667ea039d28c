/* Annotations for programs under Deadheat. C and C++.
 *
 * Include it anywhere: without Deadheat every line below compiles to nothing (deadheat-cc defines
 * __DEADHEAT__), and the arguments are not evaluated.
 *
 *   Order that Deadheat cannot see (hand-written assembly, hardware, another process):
 *     DEADHEAT_HAPPENS_BEFORE(&object)   everything so far comes before ...
 *     DEADHEAT_HAPPENS_AFTER(&object)    ... everything from here on, in whichever thread says this with the
 * same address
 *
 *   Locks of your own making. Say "acquired" right after the lock is yours, "releasing" right before you give
 * it up: DEADHEAT_LOCK_ACQUIRED(&lock)         DEADHEAT_LOCK_RELEASING(&lock)
 *     DEADHEAT_LOCK_ACQUIRED_SHARED(&lock)  DEADHEAT_LOCK_RELEASING_SHARED(&lock)
 *     DEADHEAT_LOCK_CREATED(&lock)          DEADHEAT_LOCK_DESTROYED(&lock)
 *   Their own implementation, if it is not made of atomics, goes between DEADHEAT_IGNORE_BEGIN and _END.
 *
 *   Races that are meant to be:
 *     DEADHEAT_BENIGN_RACE(variable, "why")             all accesses to it
 *     DEADHEAT_BENIGN_RACE_RANGE(address, size, "why")
 *     DEADHEAT_IGNORE_BEGIN(); ... DEADHEAT_IGNORE_END();   what this thread does in between; nests
 *     DEADHEAT_IGNORE_READS_BEGIN/_END, DEADHEAT_IGNORE_WRITES_BEGIN/_END
 *     deadheat::IgnoreScope scope;                      the same in C++, until the end of the block
 *
 *   Variables that belong together (two to eight): a detector of high-level races takes them as one. A hint;
 * lanes that have no use for it do nothing. DEADHEAT_CORRELATED(length, data);
 *
 *   A name for this thread in reports:
 *     DEADHEAT_THREAD_NAME("reader")
 *
 * All of them may be used from any thread at any time.
 */
#ifndef DEADHEAT_ANNOTATE_H
#define DEADHEAT_ANNOTATE_H

#ifdef __DEADHEAT__

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void __deadheat_happens_before(const volatile void* object);
void __deadheat_happens_after(const volatile void* object);
void __deadheat_lock_created(const volatile void* lock);
void __deadheat_lock_destroyed(const volatile void* lock);
void __deadheat_lock_acquired(const volatile void* lock, int shared);
void __deadheat_lock_releasing(const volatile void* lock, int shared);
void __deadheat_benign_race(const volatile void* address, size_t size, const char* why);
void __deadheat_ignore_begin(int reads, int writes);
void __deadheat_ignore_end(int reads, int writes);
void __deadheat_correlated(unsigned count, const volatile void* const* addresses, const size_t* sizes);
void __deadheat_thread_name(const char* name);

#ifdef __cplusplus
} /* extern "C" */
#endif

#define DEADHEAT_HAPPENS_BEFORE(object) __deadheat_happens_before(object)
#define DEADHEAT_HAPPENS_AFTER(object) __deadheat_happens_after(object)
#define DEADHEAT_LOCK_CREATED(lock) __deadheat_lock_created(lock)
#define DEADHEAT_LOCK_DESTROYED(lock) __deadheat_lock_destroyed(lock)
#define DEADHEAT_LOCK_ACQUIRED(lock) __deadheat_lock_acquired(lock, 0)
#define DEADHEAT_LOCK_RELEASING(lock) __deadheat_lock_releasing(lock, 0)
#define DEADHEAT_LOCK_ACQUIRED_SHARED(lock) __deadheat_lock_acquired(lock, 1)
#define DEADHEAT_LOCK_RELEASING_SHARED(lock) __deadheat_lock_releasing(lock, 1)
#define DEADHEAT_BENIGN_RACE(variable, why) __deadheat_benign_race(&(variable), sizeof(variable), why)
#define DEADHEAT_BENIGN_RACE_RANGE(address, size, why) __deadheat_benign_race(address, size, why)
#define DEADHEAT_IGNORE_BEGIN() __deadheat_ignore_begin(1, 1)
#define DEADHEAT_IGNORE_END() __deadheat_ignore_end(1, 1)
#define DEADHEAT_IGNORE_READS_BEGIN() __deadheat_ignore_begin(1, 0)
#define DEADHEAT_IGNORE_READS_END() __deadheat_ignore_end(1, 0)
#define DEADHEAT_IGNORE_WRITES_BEGIN() __deadheat_ignore_begin(0, 1)
#define DEADHEAT_IGNORE_WRITES_END() __deadheat_ignore_end(0, 1)
#define DEADHEAT_THREAD_NAME(name) __deadheat_thread_name(name)

#define DEADHEAT_CORRELATED(...)                                                              \
  DEADHEAT_PICK_(__VA_ARGS__, DEADHEAT_SET8_, DEADHEAT_SET7_, DEADHEAT_SET6_, DEADHEAT_SET5_, \
                 DEADHEAT_SET4_, DEADHEAT_SET3_, DEADHEAT_SET2_, DEADHEAT_SET1_, )            \
  (__VA_ARGS__)
#define DEADHEAT_PICK_(a, b, c, d, e, f, g, h, pick, ...) pick
#define DEADHEAT_SET_(count, addresses, sizes)                                   \
  do {                                                                           \
    const volatile void* const deadheat_addresses_[] = DEADHEAT_LIST_ addresses; \
    const size_t deadheat_sizes_[] = DEADHEAT_LIST_ sizes;                       \
    __deadheat_correlated(count, deadheat_addresses_, deadheat_sizes_);          \
  } while (0)
#define DEADHEAT_LIST_(...) {__VA_ARGS__}
#define DEADHEAT_SET1_(a) DEADHEAT_SET_(1, (&(a)), (sizeof(a)))
#define DEADHEAT_SET2_(a, b) DEADHEAT_SET_(2, (&(a), &(b)), (sizeof(a), sizeof(b)))
#define DEADHEAT_SET3_(a, b, c) DEADHEAT_SET_(3, (&(a), &(b), &(c)), (sizeof(a), sizeof(b), sizeof(c)))
#define DEADHEAT_SET4_(a, b, c, d) \
  DEADHEAT_SET_(4, (&(a), &(b), &(c), &(d)), (sizeof(a), sizeof(b), sizeof(c), sizeof(d)))
#define DEADHEAT_SET5_(a, b, c, d, e) \
  DEADHEAT_SET_(5, (&(a), &(b), &(c), &(d), &(e)), (sizeof(a), sizeof(b), sizeof(c), sizeof(d), sizeof(e)))
#define DEADHEAT_SET6_(a, b, c, d, e, f)                 \
  DEADHEAT_SET_(6, (&(a), &(b), &(c), &(d), &(e), &(f)), \
                (sizeof(a), sizeof(b), sizeof(c), sizeof(d), sizeof(e), sizeof(f)))
#define DEADHEAT_SET7_(a, b, c, d, e, f, g)                    \
  DEADHEAT_SET_(7, (&(a), &(b), &(c), &(d), &(e), &(f), &(g)), \
                (sizeof(a), sizeof(b), sizeof(c), sizeof(d), sizeof(e), sizeof(f), sizeof(g)))
#define DEADHEAT_SET8_(a, b, c, d, e, f, g, h)                       \
  DEADHEAT_SET_(8, (&(a), &(b), &(c), &(d), &(e), &(f), &(g), &(h)), \
                (sizeof(a), sizeof(b), sizeof(c), sizeof(d), sizeof(e), sizeof(f), sizeof(g), sizeof(h)))

#else /* not under Deadheat: nothing is evaluated */

#define DEADHEAT_HAPPENS_BEFORE(object) ((void)0)
#define DEADHEAT_HAPPENS_AFTER(object) ((void)0)
#define DEADHEAT_LOCK_CREATED(lock) ((void)0)
#define DEADHEAT_LOCK_DESTROYED(lock) ((void)0)
#define DEADHEAT_LOCK_ACQUIRED(lock) ((void)0)
#define DEADHEAT_LOCK_RELEASING(lock) ((void)0)
#define DEADHEAT_LOCK_ACQUIRED_SHARED(lock) ((void)0)
#define DEADHEAT_LOCK_RELEASING_SHARED(lock) ((void)0)
#define DEADHEAT_BENIGN_RACE(variable, why) ((void)0)
#define DEADHEAT_BENIGN_RACE_RANGE(address, size, why) ((void)0)
#define DEADHEAT_IGNORE_BEGIN() ((void)0)
#define DEADHEAT_IGNORE_END() ((void)0)
#define DEADHEAT_IGNORE_READS_BEGIN() ((void)0)
#define DEADHEAT_IGNORE_READS_END() ((void)0)
#define DEADHEAT_IGNORE_WRITES_BEGIN() ((void)0)
#define DEADHEAT_IGNORE_WRITES_END() ((void)0)
#define DEADHEAT_CORRELATED(...) ((void)0)
#define DEADHEAT_THREAD_NAME(name) ((void)0)

#endif

#ifdef __cplusplus
namespace deadheat {

/* Accesses of this thread are not looked at while one of these lives. */
class IgnoreScope {
 public:
  IgnoreScope() { DEADHEAT_IGNORE_BEGIN(); }
  ~IgnoreScope() { DEADHEAT_IGNORE_END(); }
  IgnoreScope(const IgnoreScope&) = delete;
  IgnoreScope& operator=(const IgnoreScope&) = delete;
};

} /* namespace deadheat */
#endif

#endif /* DEADHEAT_ANNOTATE_H */
