// OpenMP, by the tool interface of libomp (OMPT): who waits for whom.
//
// libomp is not instrumented, and its barriers and queues are made of atomics that nobody sees. It calls back
// a tool that a program brings along (ompt_start_tool, exported like all interposers) when a region begins
// and ends, at barriers, and when tasks are made, scheduled and done. Each of these has an object to release
// to and acquire from:
//
//   region      what comes before it -> its implicit tasks; what they did -> what comes after it
//   barrier     everybody's arrival -> everybody's leaving. Two objects take turns: a thread that has
//               arrived at one barrier shows that all have left the one before, so that an object is used
//               again only when nobody is left in its last round
//   task        its creation -> its start; its end -> its parent's taskwait, its taskgroup, the next barrier
//   dependence  siblings with the same address: what was written -> who reads or writes next, what was read
//               -> who writes next
//
// The shares of tasks' reductions are added up by the thread that waits for a taskgroup, when it has waited
// and before the taskgroup is told to have ended.
//
// Locks, critical sections, ordered blocks and reductions are interposed by name (openmp_locks.cc), because
// their callbacks come when the lock has been given away already.
//
// A task runs on a thread, and that thread's order is its own: two tasks that one thread ran after each other
// are taken as ordered, though another run might have run them side by side.
//
// Objects live in memory of the runtime, which is reused: they are forgotten when they end.
#include <omp-tools.h>

#include <initializer_list>

#include "runtime/interpose/openmp.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/modules.h"

using namespace deadheat;
using namespace deadheat::interpose;
using namespace deadheat::interpose::openmp;

namespace {

// What one address means to the dependences of one task's children.
struct Dependence {
  Dependence* next;
  uintptr_t address;
  char read;   // in
  char write;  // out, inout
  char set;    // inoutset: not ordered among themselves
  char mutex;  // mutexinoutset: one after the other
};

struct TaskGroup {
  TaskGroup* outer;
  char done;
};

struct TaskDependence {
  Dependence* on;
  ompt_dependence_type_t type;
};

struct Task {
  Task* parent;  // null for implicit tasks
  Task* outer;   // implicit ones: the one this thread was in before
  Parallel* parallel;
  TaskGroup* group;      // the innermost one it is in
  Dependence* children;  // dependences among its children; only its own thread looks at them
  TaskDependence* dependences;
  uint32_t dependence_count;
  uint32_t owners;  // itself and its children
  uint32_t round;   // implicit ones: how many barriers it has left
  bool started;
  char created;
  char suspended;
  char finished_children;
};

// The implicit task that this thread works on, whatever explicit one it runs meanwhile.
__thread Task* current_task __attribute__((tls_model("initial-exec")));

// --- Lives

void give_up(Parallel* parallel) {
  if (parallel == nullptr || __atomic_sub_fetch(&parallel->owners, 1, __ATOMIC_ACQ_REL) != 0) return;
  for (char& object : parallel->round) lane::forget(&object);
  for (char* const object :
       {&parallel->begin, &parallel->join, &parallel->ordered, &parallel->doacross, &parallel->shares})
    lane::forget(object);
  platform::destroy(parallel);
}

void give_up(Task* task) {
  while (task != nullptr && __atomic_sub_fetch(&task->owners, 1, __ATOMIC_ACQ_REL) == 0) {
    for (Dependence* d = task->children; d != nullptr;) {
      Dependence* const next = d->next;
      for (char* const object : {&d->read, &d->write, &d->set, &d->mutex}) lane::forget(object);
      platform::destroy(d);
      d = next;
    }
    for (char* const object : {&task->created, &task->suspended, &task->finished_children})
      lane::forget(object);
    platform::release(task->dependences, task->dependence_count * sizeof(TaskDependence));
    Task* const parent = task->parent;
    give_up(task->parallel);
    platform::destroy(task);
    task = parent;
  }
}

Task* task_of(ompt_data_t* data) { return data != nullptr ? static_cast<Task*>(data->ptr) : nullptr; }

Parallel* new_parallel() {
  auto* const parallel = platform::make<Parallel>();
  parallel->owners = 1;
  return parallel;
}

Task* new_task(Task* parent, Parallel* parallel) {
  auto* const task = platform::make<Task>();
  task->owners = 1;
  task->parent = parent;
  task->parallel = parallel;
  if (parallel != nullptr) __atomic_add_fetch(&parallel->owners, 1, __ATOMIC_RELAXED);
  if (parent != nullptr) {
    __atomic_add_fetch(&parent->owners, 1, __ATOMIC_RELAXED);
    task->group = parent->group;
  }
  return task;
}

// --- Regions

void parallel_begin(ompt_data_t*, const ompt_frame_t*, ompt_data_t* data, unsigned, int, const void*) {
  Parallel* const parallel = new_parallel();
  lane::release(&parallel->begin);
  data->ptr = parallel;
}

void parallel_end(ompt_data_t* data, ompt_data_t*, int, const void*) {
  auto* const parallel = static_cast<Parallel*>(data->ptr);
  if (parallel == nullptr) return;
  lane::acquire(&parallel->join);
  data->ptr = nullptr;
  give_up(parallel);
}

void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel_data, ompt_data_t* data, unsigned,
                   unsigned, int) {
  if (endpoint == ompt_scope_begin) {
    auto* parallel = parallel_data != nullptr ? static_cast<Parallel*>(parallel_data->ptr) : nullptr;
    bool const unknown = parallel == nullptr;  // the program's initial task
    if (unknown) parallel = new_parallel();
    Task* const task = new_task(nullptr, parallel);
    if (unknown) give_up(parallel);  // the task's alone
    lane::acquire(&parallel->begin);
    task->started = true;
    task->outer = current_task;
    current_task = task;
    data->ptr = task;
    return;
  }
  Task* const task = task_of(data);
  if (task == nullptr) return;
  // A worker hears of this when it is given its next work, long after the barrier that ended the region.
  lane::release(&task->parallel->join);
  if (current_task == task) current_task = task->outer;
  data->ptr = nullptr;
  give_up(task);
}

// --- Waiting

bool is_end_of_region(ompt_sync_region_t kind) {
  return kind == ompt_sync_region_barrier_implicit_parallel || kind == ompt_sync_region_barrier_teams;
}

void barrier(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint) {
  Task* const task = current_task;
  if (task == nullptr) return;
  char* const round = &task->parallel->round[task->round & 1];
  if (endpoint == ompt_scope_begin) {
    // At the end of a region only the one who goes on after it has to know; the others are told by their next
    // region what comes before it.
    if (is_end_of_region(kind)) lane::release(&task->parallel->join);
    lane::release(round);
    return;
  }
  if (!is_end_of_region(kind)) lane::acquire(round);
  ++task->round;
}

void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t* data,
                 const void*) {
  Task* const task = task_of(data);
  switch (kind) {
    case ompt_sync_region_taskwait:
      if (endpoint == ompt_scope_end && task != nullptr) lane::acquire(&task->finished_children);
      return;
    case ompt_sync_region_taskgroup:
      if (task == nullptr) return;
      if (endpoint == ompt_scope_begin) {
        auto* const group = platform::make<TaskGroup>();
        group->outer = task->group;
        task->group = group;
      } else if (TaskGroup* const group = task->group) {
        lane::acquire(&group->done);
        task->group = group->outer;
        lane::forget(&group->done);
        platform::destroy(group);
      }
      return;
    case ompt_sync_region_reduction:
      return;
    default:
      barrier(kind, endpoint);
  }
}

void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                      ompt_data_t* data, const void*) {
  Task* const task = task_of(data);
  if (kind != ompt_sync_region_taskgroup || endpoint != ompt_scope_end || task == nullptr) return;
  if (task->group != nullptr) lane::acquire(&task->group->done);
  if (!brings_tasks_shares || task->parallel == nullptr) return;
  // The last thread to come adds up all of them. Which one that is, is not told: each is taken for it.
  lane::release(&task->parallel->shares);
  lane::acquire(&task->parallel->shares);
}

// --- Tasks

void task_create(ompt_data_t* parent_data, const ompt_frame_t*, ompt_data_t* data, int flags, int,
                 const void*) {
  if ((flags & (ompt_task_initial | ompt_task_implicit)) != 0) return;
  Task* const parent = task_of(parent_data);
  Task* const task = new_task(parent, parent != nullptr ? parent->parallel : nullptr);
  lane::release(&task->created);
  data->ptr = task;
}

Dependence* dependence_on(Task* parent, uintptr_t address) {
  for (Dependence* d = parent->children; d != nullptr; d = d->next) {
    if (d->address == address) return d;
  }
  auto* const fresh = platform::make<Dependence>();
  fresh->address = address;
  fresh->next = parent->children;
  parent->children = fresh;
  return fresh;
}

constexpr uintptr_t kAllMemory = 0;

void dependences(ompt_data_t* data, const ompt_dependence_t* list, int count) {
  Task* const task = task_of(data);
  if (task == nullptr || task->parent == nullptr || count <= 0 || task->dependences != nullptr) return;
  // Everybody depends on who depends on all memory.
  auto const wanted = static_cast<uint32_t>(count) + 1;
  task->dependences = static_cast<TaskDependence*>(platform::allocate(wanted * sizeof(TaskDependence)));
  task->dependence_count = wanted;
  uint32_t kept = 0;
  bool all = false;
  for (int i = 0; i < count; ++i) {
    ompt_dependence_type_t const type = list[i].dependence_type;
    if (type == ompt_dependence_type_source || type == ompt_dependence_type_sink) continue;
    all = all || type == ompt_dependence_type_out_all_memory || type == ompt_dependence_type_inout_all_memory;
    task->dependences[kept++] = {
        dependence_on(task->parent, reinterpret_cast<uintptr_t>(list[i].variable.ptr)), type};
  }
  task->dependences[kept] = {dependence_on(task->parent, kAllMemory),
                             all ? ompt_dependence_type_inout : ompt_dependence_type_in};
  if (!all) return;
  // After all siblings so far: taken up now, by their parent's thread, would be too early; so the task is
  // made to depend on every address that was named until now.
  uint32_t named = 0;
  for (Dependence* d = task->parent->children; d != nullptr; d = d->next) ++named;
  auto* const every = static_cast<TaskDependence*>(platform::allocate(named * sizeof(TaskDependence)));
  uint32_t at = 0;
  for (Dependence* d = task->parent->children; d != nullptr; d = d->next)
    every[at++] = {d, ompt_dependence_type_inout};
  platform::release(task->dependences, task->dependence_count * sizeof(TaskDependence));
  task->dependences = every;
  task->dependence_count = named;
}

void take_up_dependences(Task* task) {
  for (uint32_t i = 0; i < task->dependence_count; ++i) {
    auto const [on, type] = task->dependences[i];
    if (on == nullptr) continue;
    lane::acquire(&on->write);
    lane::acquire(&on->mutex);
    if (type != ompt_dependence_type_inoutset) lane::acquire(&on->set);
    if (type != ompt_dependence_type_in) lane::acquire(&on->read);
  }
}

void pass_on_dependences(Task* task) {
  for (uint32_t i = 0; i < task->dependence_count; ++i) {
    auto const [on, type] = task->dependences[i];
    if (on == nullptr) continue;
    switch (type) {
      case ompt_dependence_type_in:
        lane::release(&on->read);
        break;
      case ompt_dependence_type_inoutset:
        lane::release(&on->set);
        break;
      case ompt_dependence_type_mutexinoutset:
        lane::release(&on->mutex);
        break;
      default:
        lane::release(&on->write);
    }
  }
}

// What `task` did so far, told to all who wait for its end.
void tell_end(Task* task) {
  pass_on_dependences(task);
  if (task->parent != nullptr) lane::release(&task->parent->finished_children);
  if (task->group != nullptr) lane::release(&task->group->done);
  if (task->parallel == nullptr) return;
  lane::release(&task->parallel->join);
  // All tasks are done before a barrier lets anybody go: the next one that this thread will leave.
  Task* const here = current_task;
  if (here != nullptr && here->parallel == task->parallel)
    lane::release(&task->parallel->round[here->round & 1]);
}

ompt_get_task_memory_t get_task_memory;

// libomp keeps the memory of finished tasks for others: what was done to it ends with the task that this
// thread is about to leave.
void forget_memory() {
  void* memory = nullptr;
  size_t size = 0;
  if (get_task_memory == nullptr) return;
  if (get_task_memory(&memory, &size, 0) != 0 && memory != nullptr && size != 0)
    lane::mapped(memory, size, lane::Pc{0});
}

void go_on(Task* task) {
  if (task == nullptr) return;
  if (task->started) {
    lane::acquire(&task->suspended);
    return;
  }
  task->started = true;
  lane::acquire(&task->created);
  take_up_dependences(task);
}

void task_schedule(ompt_data_t* prior_data, ompt_task_status_t status, ompt_data_t* next_data) {
  Task* const prior = task_of(prior_data);
  if (prior != nullptr) {
    switch (status) {
      case ompt_task_complete:
      case ompt_task_cancel:
      case ompt_task_late_fulfill:
        tell_end(prior);
        if (status != ompt_task_late_fulfill) forget_memory();
        prior_data->ptr = nullptr;
        give_up(prior);
        break;
      case ompt_taskwait_complete:
        take_up_dependences(prior);
        prior_data->ptr = nullptr;
        give_up(prior);
        break;
      case ompt_task_detach:
      case ompt_task_early_fulfill:
        tell_end(prior);
        break;
      default:
        lane::release(&prior->suspended);
    }
  }
  if (status != ompt_task_early_fulfill && status != ompt_taskwait_complete) go_on(task_of(next_data));
}

// --- The tool

int initialise(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  auto* const set_callback = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (set_callback == nullptr) return 0;
  get_task_memory = reinterpret_cast<ompt_get_task_memory_t>(lookup("ompt_get_task_memory"));
  platform::let_order_by_itself(reinterpret_cast<uintptr_t>(set_callback));
  struct {
    ompt_callbacks_t event;
    ompt_callback_t callback;
  } const wanted[] = {
      {ompt_callback_parallel_begin, reinterpret_cast<ompt_callback_t>(parallel_begin)},
      {ompt_callback_parallel_end, reinterpret_cast<ompt_callback_t>(parallel_end)},
      {ompt_callback_implicit_task, reinterpret_cast<ompt_callback_t>(implicit_task)},
      {ompt_callback_sync_region, reinterpret_cast<ompt_callback_t>(sync_region)},
      {ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(sync_region_wait)},
      {ompt_callback_task_create, reinterpret_cast<ompt_callback_t>(task_create)},
      {ompt_callback_task_schedule, reinterpret_cast<ompt_callback_t>(task_schedule)},
      {ompt_callback_dependences, reinterpret_cast<ompt_callback_t>(dependences)},
  };
  for (const auto& [event, callback] : wanted) set_callback(event, callback);
  return 1;
}

void finalise(ompt_data_t*) {}

ompt_start_tool_result_t tool = {initialise, finalise, {}};

}  // namespace

namespace deadheat::interpose::openmp {
Parallel* current_parallel() { return current_task != nullptr ? current_task->parallel : nullptr; }
}  // namespace deadheat::interpose::openmp

// Weak: a program that brings a tool of its own keeps it.
DH_EXPORTED ompt_start_tool_result_t* deadheat_start_tool(unsigned, const char*) __asm__("ompt_start_tool");
ompt_start_tool_result_t* deadheat_start_tool(unsigned, const char*) { return &tool; }
