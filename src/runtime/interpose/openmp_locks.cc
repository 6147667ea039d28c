// OpenMP by name: locks, critical sections, ordered blocks, reductions, and memory of tasks that libomp uses
// again. What waits for whom otherwise is told by its callbacks (openmp_tool.cc).
//
// Reductions: every thread brings its share; libomp either has them added up under a lock, or adds them up in
// a tree while the threads wait, by calling the program's function on two shares at a time. The lock's
// address stands for both: to bring a share is a release, to be the one who goes on with the sum an acquire,
// and the function, which is replaced by ours, is both.
#include <dlfcn.h>

#include <initializer_list>

#include "runtime/interpose/ignored.h"
#include "runtime/interpose/openmp.h"
#include "runtime/interpose/recursion.h"

using namespace deadheat;
using namespace deadheat::interpose;

namespace {

// A library that is loaded later, and not for everybody to see, is not among what comes next.
template <class Function>
Function* real_of(Real<Function>& real) {
  Function* found = real.find();
  if (__builtin_expect(found == nullptr, 0)) {
    for (const char* const library : {"libomp.so.5", "libomp.so", "libiomp5.so"}) {
      void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
      if (handle == nullptr) continue;
      found = reinterpret_cast<Function*>(dlsym(handle, real.name));
      dlclose(handle);
      if (found != nullptr) break;
    }
    if (found == nullptr) no_such_function(real.name);
    __atomic_store_n(&real.function, found, __ATOMIC_RELAXED);
  }
  return found;
}
#define OMP(name) real_of(real_##name)

__thread RecursionTable<16> nest_locks __attribute__((tls_model("initial-exec")));

}  // namespace

namespace deadheat::interpose::openmp {
__thread bool brings_tasks_shares;
}  // namespace deadheat::interpose::openmp

// --- Critical sections and locks

INTERPOSE(void, __kmpc_critical, void* place, int thread, void* lock) {
  OMP(__kmpc_critical)(place, thread, lock);
  lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
}
INTERPOSE(void, __kmpc_critical_with_hint, void* place, int thread, void* lock, uint32_t hint) {
  OMP(__kmpc_critical_with_hint)(place, thread, lock, hint);
  lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
}
INTERPOSE(void, __kmpc_end_critical, void* place, int thread, void* lock) {
  lane::lock_releasing(lock, CALLER);
  OMP(__kmpc_end_critical)(place, thread, lock);
}

INTERPOSE(void, omp_set_lock, void* lock) {
  OMP(omp_set_lock)(lock);
  lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
}
INTERPOSE(int, omp_test_lock, void* lock) {
  int const taken = OMP(omp_test_lock)(lock);
  if (taken != 0) lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
  return taken;
}
INTERPOSE(void, omp_unset_lock, void* lock) {
  lane::lock_releasing(lock, CALLER);
  OMP(omp_unset_lock)(lock);
}
INTERPOSE(void, omp_destroy_lock, void* lock) {
  lane::lock_destroyed(lock);
  OMP(omp_destroy_lock)(lock);
}

INTERPOSE(void, omp_set_nest_lock, void* lock) {
  OMP(omp_set_nest_lock)(lock);
  if (nest_locks.enter(lock, 1))
    lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
}
INTERPOSE(int, omp_test_nest_lock, void* lock) {
  int const depth = OMP(omp_test_nest_lock)(lock);
  if (depth != 0 && nest_locks.enter(lock, 1))
    lane::lock_acquired(lock, lane::LockMode::kExclusive, lane::LockIs::kName, CALLER);
  return depth;
}
INTERPOSE(void, omp_unset_nest_lock, void* lock) {
  uint32_t held = 1;
  if (nest_locks.leave(lock, false, &held)) lane::lock_releasing(lock, CALLER);
  OMP(omp_unset_nest_lock)(lock);
}
INTERPOSE(void, omp_destroy_nest_lock, void* lock) {
  lane::lock_destroyed(lock);
  OMP(omp_destroy_nest_lock)(lock);
}

// --- Ordered blocks and iterations that wait for each other. One object for all loops of a region: coarser
//     than there is, which can hide a race and invents none.

INTERPOSE(void, __kmpc_ordered, void* place, int thread) {
  OMP(__kmpc_ordered)(place, thread);
  if (auto* const parallel = openmp::current_parallel()) lane::acquire(&parallel->ordered);
}
INTERPOSE(void, __kmpc_end_ordered, void* place, int thread) {
  if (auto* const parallel = openmp::current_parallel()) lane::release(&parallel->ordered);
  OMP(__kmpc_end_ordered)(place, thread);
}
INTERPOSE(void, __kmpc_doacross_post, void* place, int thread, const int64_t* iteration) {
  if (auto* const parallel = openmp::current_parallel()) lane::release(&parallel->doacross);
  OMP(__kmpc_doacross_post)(place, thread, iteration);
}
INTERPOSE(void, __kmpc_doacross_wait, void* place, int thread, const int64_t* iteration) {
  OMP(__kmpc_doacross_wait)(place, thread, iteration);
  if (auto* const parallel = openmp::current_parallel()) lane::acquire(&parallel->doacross);
}

// --- Reductions

namespace {

using Combine = void (*)(void* mine, void* others);

struct Reduction {
  Combine combine;
  void* lock;
};
__thread Reduction reduction __attribute__((tls_model("initial-exec")));

void combine(void* mine, void* others) {
  lane::acquire(reduction.lock);
  reduction.combine(mine, others);
  lane::release(reduction.lock);
}

template <class Reduce>
int reduce(Combine programs, void* lock, Reduce real) {
  Reduction const outer = reduction;
  reduction = {programs, lock};
  lane::release(lock);
  int const result = real();
  reduction = outer;
  if (result == 1) lane::acquire(lock);
  return result;
}

}  // namespace

INTERPOSE(int, __kmpc_reduce, void* place, int thread, int count, size_t size, void* data, Combine programs,
          void* lock) {
  return reduce(programs, lock,
                [&] { return OMP(__kmpc_reduce)(place, thread, count, size, data, combine, lock); });
}
INTERPOSE(int, __kmpc_reduce_nowait, void* place, int thread, int count, size_t size, void* data,
          Combine programs, void* lock) {
  return reduce(programs, lock,
                [&] { return OMP(__kmpc_reduce_nowait)(place, thread, count, size, data, combine, lock); });
}
INTERPOSE(void, __kmpc_end_reduce, void* place, int thread, void* lock) {
  lane::release(lock);
  OMP(__kmpc_end_reduce)(place, thread, lock);
}
INTERPOSE(void, __kmpc_end_reduce_nowait, void* place, int thread, void* lock) {
  lane::release(lock);
  OMP(__kmpc_end_reduce_nowait)(place, thread, lock);
}

// --- Reductions of tasks that all threads of a region have, `reduction(task, ...)`. The first thread to come
//     calls the program's function that initialises the shares of all, the others wait for it: these writes
//     come before whatever is done to the shares, so they need not be known.

namespace {
template <class Begin>
void* begin_tasks_shares(Begin real) {
  begin_ignoring(true, true);
  void* const group = real();
  end_ignoring(true, true);
  return group;
}
}  // namespace

INTERPOSE(void*, __kmpc_taskred_modifier_init, void* place, int thread, int is_loop, int count, void* data) {
  return begin_tasks_shares(
      [&] { return OMP(__kmpc_taskred_modifier_init)(place, thread, is_loop, count, data); });
}
INTERPOSE(void*, __kmpc_task_reduction_modifier_init, void* place, int thread, int is_loop, int count,
          void* data) {
  return begin_tasks_shares(
      [&] { return OMP(__kmpc_task_reduction_modifier_init)(place, thread, is_loop, count, data); });
}
INTERPOSE(void, __kmpc_task_reduction_modifier_fini, void* place, int thread, int is_loop) {
  openmp::brings_tasks_shares = true;
  OMP(__kmpc_task_reduction_modifier_fini)(place, thread, is_loop);
  openmp::brings_tasks_shares = false;
}

// --- Tasks: their memory comes from lists of libomp's own.

INTERPOSE(void*, __kmpc_omp_task_alloc, void* place, int thread, int flags, size_t size, size_t shared_size,
          void* entry) {
  void* const task = OMP(__kmpc_omp_task_alloc)(place, thread, flags, size, shared_size, entry);
  if (task != nullptr) {
    lane::mapped(task, size, CALLER);
    // Its first word leads to what it shares.
    if (void* const shared = *static_cast<void**>(task); shared != nullptr && shared_size != 0)
      lane::mapped(shared, shared_size, CALLER);
  }
  return task;
}
