// Threads, locks and everything else that waits. State is in the history (who held what when the world went
// live) and goes on from there.
#include <fmt/format.h>

#include <algorithm>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

constexpr std::uint64_t kBusy = 16, kNoSuch = 3, kDeadlock = 35, kTimedOut = 110, kNotOwner = 1;
constexpr std::uint64_t kAgain = 11;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;
enum MutexKind : std::uint32_t { kNormal = 0, kRecursive = 1, kErrorChecking = 2 };

ThreadId id_of(const ModelCall& call) { return call.self.thread->id(); }

Lock& lock_at(LiveWorld& live, std::uint64_t address) { return live.history().locks[address]; }

bool is_held(const Lock& lock) { return lock.depth != 0; }

std::uint32_t kind_of(LiveWorld& live, std::uint64_t mutex, Lock& lock) {
  return live.history().kind_of(lock, mutex);
}

std::string owner_text(LiveWorld& live, std::uint64_t address, const char* what) {
  const Lock& lock = lock_at(live, address);
  return is_held(lock) ? fmt::format("{} {}, held by thread {}", what, live.describe(Address(address)),
                                     lock.owner.value())
                       : fmt::format("{} {}", what, live.describe(Address(address)));
}

// Time of a timespec, of a clock that never was.
std::uint64_t deadline(ModelCall& call, std::size_t i) {
  // An absolute time of the recorded machine's clocks means nothing here: it is some time ahead.
  (void)i;
  return call.live.now() + kNanoseconds;
}

// --- Mutexes

void take(ModelCall& call, std::uint64_t address, std::optional<std::uint64_t> until) {
  LiveWorld& live = call.live;
  live.check(Address(address), 1, false);
  live.synchronise(call.self);
  Lock& mine = lock_at(live, address);
  if (is_held(mine) && mine.owner == id_of(call)) {
    const std::uint32_t kind = kind_of(live, address, mine);
    if (kind == kRecursive) {
      ++mine.depth;
      return call.result(std::uint64_t{0});
    }
    if (kind == kErrorChecking) return call.result(kDeadlock);
  }
  const bool has_it = live.block(
      call.self, owner_text(live, address, "mutex"),
      [&live, address] { return !is_held(lock_at(live, address)); }, until);
  if (!has_it) return call.result(kTimedOut);
  Lock& lock = lock_at(live, address);
  lock.owner = id_of(call);
  lock.depth = 1;
  call.result(std::uint64_t{0});
}

void do_lock(ModelCall& call) { take(call, call.word(0), std::nullopt); }
void do_timedlock(ModelCall& call) { take(call, call.word(0), deadline(call, 1)); }

void do_trylock(ModelCall& call) {
  call.live.check(call.address(0), 1, false);
  call.live.synchronise(call.self);
  Lock& lock = lock_at(call.live, call.word(0));
  if (is_held(lock)) {
    if (lock.owner != id_of(call) || kind_of(call.live, call.word(0), lock) != kRecursive)
      return call.result(kBusy);
    ++lock.depth;
    return call.result(std::uint64_t{0});
  }
  lock.owner = id_of(call);
  lock.depth = 1;
  call.result(std::uint64_t{0});
}

void do_unlock(ModelCall& call) {
  call.live.check(call.address(0), 1, false);
  call.live.synchronise(call.self);
  Lock& lock = lock_at(call.live, call.word(0));
  if (is_held(lock) && lock.owner != id_of(call) && kind_of(call.live, call.word(0), lock) != kNormal)
    return call.result(kNotOwner);
  if (is_held(lock)) --lock.depth;
  call.result(std::uint64_t{0});
}

void do_mutex_init(ModelCall& call) {
  Lock fresh;
  fresh.kind = kNormal;
  if (call.word(1) != 0) {
    const auto& attributes = call.live.history().mutex_attributes;
    if (const auto found = attributes.find(call.word(1)); found != attributes.end())
      fresh.kind = found->second;
  }
  lock_at(call.live, call.word(0)) = fresh;
  call.live.store_bytes(call.address(0), std::string(40, '\0'));
  call.result(std::uint64_t{0});
}

void do_attribute_type(ModelCall& call) {
  call.live.history().mutex_attributes[call.word(0)] = call.word32(1);
  call.result(std::uint64_t{0});
}

// --- Condition variables

void wait(ModelCall& call, std::uint64_t condition, std::uint64_t mutex, bool has_released,
          std::optional<std::uint64_t> until) {
  LiveWorld& live = call.live;
  const ThreadId self = id_of(call);
  auto& waiters = live.history().waiters;
  std::uint32_t depth = 1;
  if (!has_released) {
    live.synchronise(call.self);
    depth = std::exchange(lock_at(live, mutex).depth, 0);
    waiters[condition].push_back(self);
  }
  const auto is_woken = [&waiters, condition, self] {
    return std::ranges::count(waiters[condition], self) == 0;
  };
  const bool is_in_time = live.block(
      call.self, fmt::format("condition variable {}", live.describe(Address(condition))), is_woken, until);
  std::erase(waiters[condition], self);
  live.block(call.self, owner_text(live, mutex, "mutex"),
             [&live, mutex] { return !is_held(lock_at(live, mutex)); });
  Lock& lock = lock_at(live, mutex);
  lock.owner = self;
  lock.depth = std::max(depth, 1u);
  call.result(is_in_time ? std::uint64_t{0} : kTimedOut);
}

void do_wait(ModelCall& call) { wait(call, call.word(0), call.word(1), false, std::nullopt); }
void rest_of_wait(ModelCall& call) { wait(call, call.word(0), call.word(1), true, std::nullopt); }
void do_timedwait(ModelCall& call) { wait(call, call.word(0), call.word(1), false, deadline(call, 2)); }
void rest_of_timedwait(ModelCall& call) { wait(call, call.word(0), call.word(1), true, deadline(call, 2)); }
// std::condition_variable::wait(std::unique_lock<std::mutex>&): the lock's first word is the mutex.
void do_cxx_wait(ModelCall& call) {
  wait(call, call.word(0), call.live.load_number(call.address(1), 8), false, std::nullopt);
}
void rest_of_cxx_wait(ModelCall& call) {
  wait(call, call.word(0), call.live.load_number(call.address(1), 8), true, std::nullopt);
}

void do_signal(ModelCall& call) {
  call.live.check(call.address(0), 1, false);
  call.live.synchronise(call.self);
  auto& waiting = call.live.history().waiters[call.word(0)];
  if (!waiting.empty()) waiting.erase(waiting.begin());
  call.result(std::uint64_t{0});
}
void do_broadcast(ModelCall& call) {
  call.live.check(call.address(0), 1, false);
  call.live.synchronise(call.self);
  call.live.history().waiters[call.word(0)].clear();
  call.result(std::uint64_t{0});
}

// --- Readers and writers

// Before waiting for one; false if the caller has it for writing, and would wait for itself.
bool may_wait_for_rwlock(ModelCall& call) {
  call.live.check(call.address(0), 1, false);
  call.live.synchronise(call.self);
  const Lock& lock = lock_at(call.live, call.word(0));
  return !is_held(lock) || lock.owner != id_of(call);
}

void do_read_lock(ModelCall& call) {
  LiveWorld& live = call.live;
  const std::uint64_t address = call.word(0);
  if (!may_wait_for_rwlock(call)) return call.result(kDeadlock);
  live.block(call.self, owner_text(live, address, "rwlock"),
             [&live, address] { return !is_held(lock_at(live, address)); });
  lock_at(live, address).readers.insert(id_of(call));
  call.result(std::uint64_t{0});
}
void do_try_read_lock(ModelCall& call) {
  call.live.synchronise(call.self);
  Lock& lock = lock_at(call.live, call.word(0));
  if (is_held(lock)) return call.result(kBusy);
  lock.readers.insert(id_of(call));
  call.result(std::uint64_t{0});
}
void do_write_lock(ModelCall& call) {
  LiveWorld& live = call.live;
  const std::uint64_t address = call.word(0);
  if (!may_wait_for_rwlock(call)) return call.result(kDeadlock);
  live.block(call.self, owner_text(live, address, "rwlock"), [&live, address] {
    const Lock& lock = lock_at(live, address);
    return !is_held(lock) && lock.readers.empty();
  });
  Lock& lock = lock_at(live, address);
  lock.owner = id_of(call);
  lock.depth = 1;
  call.result(std::uint64_t{0});
}
void do_try_write_lock(ModelCall& call) {
  call.live.synchronise(call.self);
  Lock& lock = lock_at(call.live, call.word(0));
  if (is_held(lock) || !lock.readers.empty()) return call.result(kBusy);
  lock.owner = id_of(call);
  lock.depth = 1;
  call.result(std::uint64_t{0});
}
void do_rw_unlock(ModelCall& call) {
  call.live.synchronise(call.self);
  Lock& lock = lock_at(call.live, call.word(0));
  if (lock.readers.erase(id_of(call)) == 0) lock.depth = 0;
  call.result(std::uint64_t{0});
}
void do_lock_init(ModelCall& call) {
  lock_at(call.live, call.word(0)) = Lock{};
  lock_at(call.live, call.word(0)).kind = kNormal;
  call.result(std::uint64_t{0});
}

// --- Semaphores, barriers

std::int64_t& semaphore(LiveWorld& live, std::uint64_t address) {
  auto& all = live.history().semaphores;
  const auto found = all.find(address);
  if (found == all.end()) live.end(OutcomeKind::kLeft, 0, "a semaphore whose value is not known");
  return found->second;
}
void do_sem_init(ModelCall& call) {
  call.live.history().semaphores[call.word(0)] = static_cast<std::int64_t>(call.word32(2));
  call.result(std::uint64_t{0});
}
void do_sem_post(ModelCall& call) {
  call.live.synchronise(call.self);
  ++semaphore(call.live, call.word(0));
  call.result(std::uint64_t{0});
}
void do_sem_wait(ModelCall& call) {
  LiveWorld& live = call.live;
  const std::uint64_t address = call.word(0);
  live.block(call.self, fmt::format("semaphore {}", live.describe(Address(address))),
             [&live, address] { return semaphore(live, address) > 0; });
  --semaphore(live, address);
  call.result(std::uint64_t{0});
}

void do_barrier_init(ModelCall& call) {
  call.live.history().barriers[call.word(0)] = {call.word32(2), 0, 0};
  call.result(std::uint64_t{0});
}
void leave_barrier(ModelCall& call, std::uint64_t generation) {
  LiveWorld& live = call.live;
  const std::uint64_t address = call.word(0);
  live.block(
      call.self, fmt::format("barrier {}", live.describe(Address(address))),
      [&live, address, generation] { return live.history().barriers[address].generation != generation; });
  call.result(std::uint64_t{0});
}
void do_barrier_wait(ModelCall& call) {
  call.live.synchronise(call.self);
  Barrier& barrier = call.live.history().barriers[call.word(0)];
  if (barrier.participants == 0) call.live.end(OutcomeKind::kLeft, 0, "a barrier whose size is not known");
  const std::uint64_t generation = barrier.generation;
  if (++barrier.arrived < barrier.participants) return leave_barrier(call, generation);
  barrier.arrived = 0;
  ++barrier.generation;
  call.result(std::uint64_t{0xffffffff});  // PTHREAD_BARRIER_SERIAL_THREAD
}
void rest_of_barrier_wait(ModelCall& call) {
  // It has arrived; if its round were over, it would be the last to know.
  Barrier& barrier = call.live.history().barriers[call.word(0)];
  if (barrier.arrived == 0) return call.result(std::uint64_t{0});
  leave_barrier(call, barrier.generation);
}

// --- Once

void run_once(ModelCall& call) {
  LiveWorld& live = call.live;
  const std::uint64_t control = call.word(0);
  live.synchronise(call.self);
  auto& done = live.history().once_done;
  if (done.contains(control)) return call.result(std::uint64_t{0});
  Lock& lock = lock_at(live, control);
  if (is_held(lock)) {
    live.block(call.self, fmt::format("pthread_once {}", live.describe(Address(control))),
               [&live, control] { return !is_held(lock_at(live, control)); });
    if (done.contains(control)) return call.result(std::uint64_t{0});
  }
  lock_at(live, control).owner = id_of(call);
  lock_at(live, control).depth = 1;
  live.call_function(call.self, call.word(1), {});
  lock_at(live, control).depth = 0;
  if (call.self.thread->hot()->unwinding == kDhNotUnwinding) done.insert(control);
  call.result(std::uint64_t{0});
}
void rest_of_once(ModelCall& call) {
  if (call.open.callbacks == 0) return run_once(call);
  call.live.history().once_done.insert(call.word(0));
  lock_at(call.live, call.word(0)).depth = 0;
  call.result(std::uint64_t{0});
}

// --- Threads

void do_create(ModelCall& call) {
  call.live.synchronise(call.self);
  LiveThread& started = call.live.start_thread(call.word(2), call.word(3));
  call.live.store_number(call.address(0), call.live.handle_of(started), 8);
  call.result(std::uint64_t{0});
}
// The thread exists; its handle was not written yet.
void rest_of_create(ModelCall& call) { call.result(std::uint64_t{0}); }

// Waits for the end of the thread; 0, or why not.
std::uint64_t join(ModelCall& call, std::uint64_t handle, std::uint64_t& value) {
  LiveWorld& live = call.live;
  live.synchronise(call.self);
  ThreadId id;
  LiveThread* const other = live.thread_of_handle(handle, id);
  const auto known = live.history().threads.find(id);
  if (other == nullptr &&
      (known == live.history().threads.end() || known->second.handle != handle || !known->second.has_ended))
    live.end(OutcomeKind::kLeft, 0, fmt::format("join of a thread that is not known ({:#x})", handle));
  if (other == &call.self) return kDeadlock;
  live.block(call.self, fmt::format("the end of thread {}", id.value()),
             [&live, id] { return live.history().threads[id].has_ended; });
  value = live.history().threads[id].result;
  live.history().threads[id].is_joined = true;
  return 0;
}

void do_join(ModelCall& call) {
  std::uint64_t value = 0;
  const std::uint64_t problem = join(call, call.word(0), value);
  if (problem == 0 && call.word(1) != 0) call.live.store_number(call.address(1), value, 8);
  call.result(problem);
}
void do_cxx_join(ModelCall& call) {
  std::uint64_t value = 0;
  const std::uint64_t handle = call.live.load_number(call.address(0), 8);
  if (handle == 0 || join(call, handle, value) != 0)
    call.live.end(OutcomeKind::kLeft, 0, "std::thread::join that throws std::system_error");
  call.live.store_number(call.address(0), 0, 8);
}
void do_detach(ModelCall& call) {
  ThreadId id;
  if (call.live.thread_of_handle(call.word(0), id) == nullptr) return call.result(kNoSuch);
  call.live.history().threads[id].is_detached = true;
  call.result(std::uint64_t{0});
}
void do_cxx_detach(ModelCall& call) { call.live.store_number(call.address(0), 0, 8); }

// std::thread's constructor: (this, std::unique_ptr<_State>&, dependency). The state's virtual _M_run is the
// third function of its table; its deleting destructor the second.
void do_cxx_start(ModelCall& call) {
  LiveWorld& live = call.live;
  live.synchronise(call.self);
  const std::uint64_t state = live.load_number(call.address(1), 8);
  live.store_number(call.address(1), 0, 8);
  const std::uint64_t table = live.load_number(Address(state), 8);
  LiveThread& started = live.start_thread(live.load_number(Address(table + 16), 8), state);
  live.store_number(call.address(0), live.handle_of(started), 8);
}

void do_self(ModelCall& call) { call.result(call.live.handle_of(call.self)); }
void do_equal(ModelCall& call) { call.result(std::uint64_t{call.word(0) == call.word(1) ? 1u : 0u}); }
void do_exit(ModelCall& call) { call.live.end_thread(call.self, call.word(0)); }
void do_zero(ModelCall& call) { call.result(std::uint64_t{0}); }

void do_yield(ModelCall& call) {
  call.live.synchronise(call.self);
  call.live.yield(call.self);
  call.result(std::uint64_t{0});
}

void sleep_for(ModelCall& call, std::uint64_t nanoseconds) {
  call.live.block(call.self, "time to pass", [] { return false; }, call.live.now() + nanoseconds);
  call.result(std::uint64_t{0});
}
void do_sleep(ModelCall& call) { sleep_for(call, call.word32(0) * kNanoseconds); }
void do_usleep(ModelCall& call) { sleep_for(call, call.word32(0) * 1000ull); }
void do_nanosleep(ModelCall& call) {
  sleep_for(call, call.live.load_number(call.address(0), 8) * kNanoseconds +
                      call.live.load_number(Address(call.word(0) + 8), 8));
}
void do_clock_nanosleep(ModelCall& call) { sleep_for(call, kNanoseconds); }

}  // namespace

std::span<const Model> thread_models() {
  (void)kAgain;
  static const Model models[] = {
      {"pthread_mutex_lock", do_lock},
      {"pthread_mutex_trylock", do_trylock},
      {"pthread_mutex_timedlock", do_timedlock},
      {"pthread_mutex_clocklock", do_timedlock},
      {"pthread_mutex_unlock", do_unlock},
      {"pthread_mutex_init", do_mutex_init},
      {"pthread_mutex_destroy", do_zero},
      {"pthread_mutexattr_init", do_zero},
      {"pthread_mutexattr_destroy", do_zero},
      {"pthread_mutexattr_settype", do_attribute_type},
      {"pthread_cond_init", do_zero},
      {"pthread_cond_destroy", do_zero},
      {"pthread_condattr_init", do_zero},
      {"pthread_condattr_destroy", do_zero},
      {"pthread_condattr_setclock", do_zero},
      {"pthread_cond_wait", do_wait, rest_of_wait},
      {"pthread_cond_timedwait", do_timedwait, rest_of_timedwait},
      {"pthread_cond_clockwait", do_timedwait, rest_of_timedwait},
      {"pthread_cond_signal", do_signal},
      {"pthread_cond_broadcast", do_broadcast},
      {"_ZNSt18condition_variableC1Ev", do_zero},
      {"_ZNSt18condition_variableD1Ev", do_zero},
      {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", do_cxx_wait, rest_of_cxx_wait},
      {"_ZNSt18condition_variable10notify_oneEv", do_signal},
      {"_ZNSt18condition_variable10notify_allEv", do_broadcast},
      {"pthread_rwlock_init", do_lock_init},
      {"pthread_rwlock_destroy", do_zero},
      {"pthread_rwlock_rdlock", do_read_lock},
      {"pthread_rwlock_tryrdlock", do_try_read_lock},
      {"pthread_rwlock_wrlock", do_write_lock},
      {"pthread_rwlock_trywrlock", do_try_write_lock},
      {"pthread_rwlock_unlock", do_rw_unlock},
      {"pthread_spin_init", do_lock_init},
      {"pthread_spin_destroy", do_zero},
      {"pthread_spin_lock", do_lock},
      {"pthread_spin_trylock", do_trylock},
      {"pthread_spin_unlock", do_unlock},
      {"sem_init", do_sem_init},
      {"sem_destroy", do_zero},
      {"sem_post", do_sem_post},
      {"sem_wait", do_sem_wait},
      {"pthread_barrier_init", do_barrier_init},
      {"pthread_barrier_destroy", do_zero},
      {"pthread_barrier_wait", do_barrier_wait, rest_of_barrier_wait},
      {"pthread_once", run_once, rest_of_once},
      {"pthread_create", do_create, rest_of_create},
      {"pthread_join", do_join},
      {"pthread_detach", do_detach},
      {"pthread_self", do_self},
      {"pthread_equal", do_equal},
      {"pthread_exit", do_exit},
      {"pthread_attr_init", do_zero},
      {"pthread_attr_destroy", do_zero},
      {"pthread_attr_setdetachstate", do_zero},
      {"pthread_attr_setstacksize", do_zero},
      {"pthread_setname_np", do_zero},
      {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", do_cxx_start,
       rest_of_create},
      {"_ZNSt6thread4joinEv", do_cxx_join},
      {"_ZNSt6thread6detachEv", do_cxx_detach},
      {"_ZNSt6thread6_StateD2Ev", do_zero},
      {"sched_yield", do_yield},
      {"pthread_yield", do_yield},
      {"thrd_yield", do_yield},
      {"sleep", do_sleep},
      {"usleep", do_usleep},
      {"nanosleep", do_nanosleep},
      {"clock_nanosleep", do_clock_nanosleep},
  };
  return models;
}

}  // namespace deadheat::replay::live
