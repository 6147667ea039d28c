#include "replay/live/history.h"

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "replay/program.h"
#include "replay/world.h"

namespace deadheat::replay::live {

using recording::SequencerKind;

enum class History::Effect : std::uint8_t {
  kNone,
  kCalloc,
  kCreate,  // a thread; its handle goes to the first argument
  kSelf,
  kSignal,
  kBroadcast,
  kWait,  // on a condition variable
  kGuardRelease,
  kOnce,
  kSemaphoreInit,
  kSemaphorePost,
  kSemaphoreWait,
  kExitHandler,
  kPlainExitHandler,
  kMutexInit,
  kAttributeType,
  kDetach,
  kMap,
  kLock,  // a mutex, perhaps once more
  kUnlock,
  kEmptySet,  // of signals
  kFullSet,
  kAddSignal,
  kRemoveSignal,
  kMask,
  kSignalHandler,
  kSignalAction,
  kKeyCreate,
  kSetSpecific,
  kThreadExitHandler,
  kSort,
};

namespace {

History* running = nullptr;

}  // namespace

History::History(World& world) : world_(world) {
  DEADHEAT_CHECK(running == nullptr);
  running = this;
  globals = std::make_unique<Globals>(world.program(), memory);
  const struct {
    const char* name;
    Effect effect;
  } known[] = {
      {"calloc", Effect::kCalloc},
      {"pthread_create", Effect::kCreate},
      {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
       Effect::kCreate},
      {"pthread_self", Effect::kSelf},
      {"pthread_cond_signal", Effect::kSignal},
      {"pthread_cond_broadcast", Effect::kBroadcast},
      {"_ZNSt18condition_variable10notify_oneEv", Effect::kSignal},
      {"_ZNSt18condition_variable10notify_allEv", Effect::kBroadcast},
      {"pthread_cond_wait", Effect::kWait},
      {"pthread_cond_timedwait", Effect::kWait},
      {"pthread_cond_clockwait", Effect::kWait},
      {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", Effect::kWait},
      {"__cxa_guard_release", Effect::kGuardRelease},
      {"pthread_once", Effect::kOnce},
      {"sem_init", Effect::kSemaphoreInit},
      {"sem_post", Effect::kSemaphorePost},
      {"sem_wait", Effect::kSemaphoreWait},
      {"__cxa_atexit", Effect::kExitHandler},
      {"atexit", Effect::kPlainExitHandler},
      {"pthread_mutex_init", Effect::kMutexInit},
      {"pthread_mutexattr_settype", Effect::kAttributeType},
      {"pthread_detach", Effect::kDetach},
      {"mmap", Effect::kMap},
      {"mmap64", Effect::kMap},
      {"pthread_mutex_lock", Effect::kLock},
      {"pthread_mutex_trylock", Effect::kLock},
      {"pthread_mutex_timedlock", Effect::kLock},
      {"pthread_mutex_unlock", Effect::kUnlock},
      {"sigemptyset", Effect::kEmptySet},
      {"sigfillset", Effect::kFullSet},
      {"sigaddset", Effect::kAddSignal},
      {"sigdelset", Effect::kRemoveSignal},
      {"pthread_sigmask", Effect::kMask},
      {"sigprocmask", Effect::kMask},
      {"signal", Effect::kSignalHandler},
      {"__sysv_signal", Effect::kSignalHandler},
      {"sigaction", Effect::kSignalAction},
      {"pthread_key_create", Effect::kKeyCreate},
      {"pthread_setspecific", Effect::kSetSpecific},
      {"__cxa_thread_atexit", Effect::kThreadExitHandler},
      {"qsort", Effect::kSort},
      {"qsort_r", Effect::kSort},
  };
  for (const auto& [name, effect] : known)
    if (const Address address = globals->address_of(name); address.value() != 0)
      effects_[address.value()] = effect;
  world.add(*this);
}

History::~History() { running = nullptr; }

History* History::current() { return running; }

History::Effect History::effect_of(std::uint64_t target) const {
  const auto found = effects_.find(target);
  return found == effects_.end() ? Effect::kNone : found->second;
}

void History::on_thread_end(ThreadId thread, const recording::End&) {
  KnownThread& known = threads[thread];
  known.has_ended = true;
  known.result = world_.threads().at(thread)->hot()->results[0];
}

void History::on_sequencer(ThreadId id, SiteId site, const recording::Sequencer& sequencer) {
  Thread& thread = *world_.threads().at(id);
  const OpenCall* const call = thread.live_calls().empty() ? nullptr : thread.live_calls().back();
  const Effect effect = call == nullptr ? Effect::kNone : effect_of(call->target);
  const std::uint64_t object = sequencer.object.value();
  switch (sequencer.kind) {
    case SequencerKind::kAllocated:
      memory.image().on_sequencer(id, site, sequencer);
      memory.allocated(sequencer.object, sequencer.extra, false);
      if (effect == Effect::kCalloc) {
        const std::vector<std::uint8_t> zeros(std::min<std::uint64_t>(sequencer.extra, 1 << 20));
        for (std::uint64_t at = 0; at < sequencer.extra; at += zeros.size())
          memory.image().write(Address(object + at), std::span(zeros).first(std::min<std::uint64_t>(
                                                         zeros.size(), sequencer.extra - at)));
      }
      return;
    case SequencerKind::kUsable:
      return memory.usable(sequencer.object, sequencer.extra);
    case SequencerKind::kFreeing:
      return memory.freed(sequencer.object, site);
    case SequencerKind::kMapped: {
      // By the program (then its flags say what of), or a new thread's stack.
      constexpr std::uint64_t kAnonymous = 0x20;
      const bool is_anonymous =
          effect == Effect::kMap && call->count > 3 && (call->words[3] & kAnonymous) != 0;
      return memory.mapped(sequencer.object, sequencer.extra, is_anonymous);
    }
    case SequencerKind::kUnmapping:
      return memory.unmapped(sequencer.object, sequencer.extra);
    case SequencerKind::kLockAcquired: {
      Lock& lock = locks[object];
      if (sequencer.is_shared()) {
        lock.readers.insert(id);
      } else {
        lock.owner = id;
        lock.depth = 1;
      }
      if (effect == Effect::kWait && call->count > 0) std::erase(waiters[call->words[0]], id);
      return;
    }
    case SequencerKind::kLockReleasing: {
      Lock& lock = locks[object];
      if (lock.readers.erase(id) == 0) lock.depth = 0;
      if (effect == Effect::kWait && call->count > 0) waiters[call->words[0]].push_back(id);
      return;
    }
    case SequencerKind::kLockDestroyed:
      locks.erase(object);
      return;
    case SequencerKind::kBarrierInitialised:
      barriers[object] = {static_cast<std::uint32_t>(sequencer.extra), 0, 0};
      return;
    case SequencerKind::kBarrierArrive: {
      Barrier& barrier = barriers[object];
      if (++barrier.arrived >= barrier.participants) {
        barrier.arrived = 0;
        ++barrier.generation;
      }
      return;
    }
    case SequencerKind::kThreadCreated:
      if (effect == Effect::kCreate && call->count > 0) {
        threads[sequencer.other_thread()].handle_at = Address(call->words[0]);
        unseen_handles_[call->words[0]] = sequencer.other_thread();
      }
      return;
    case SequencerKind::kThreadJoined:
      threads[sequencer.other_thread()].is_joined = true;
      return;
    default:
      return;
  }
}

void History::set_action(int signal, Address action) {
  constexpr std::uint64_t kSiginfo = 4;
  const std::uint64_t handler = memory.image().read(action, 8).value_or(0);
  const std::uint64_t flags = memory.image().read(Address(action.value() + kFlagsAt), 4).value_or(0);
  signal_actions[signal] = {handler, (flags & kSiginfo) != 0};
}

std::uint64_t History::destructor_of(std::uint32_t key) const {
  if (const auto found = specifics.destructors.find(key); found != specifics.destructors.end())
    return found->second;
  // Which number a key was given is known when the program has looked at it.
  for (const auto& [where, destructor] : specifics.created)
    if (memory.image().read(where, 4) == key) return destructor;
  return 0;
}

std::uint32_t History::kind_of(Lock& lock, std::uint64_t mutex) {
  // Where glibc has it, and PTHREAD_RECURSIVE_MUTEX_INITIALIZER puts it.
  if (lock.kind == ~0u)
    lock.kind = static_cast<std::uint32_t>(memory.image().read(Address(mutex + 16), 4).value_or(0));
  return lock.kind & 3;
}

void History::see_handle(const Access& access) {
  const auto found = unseen_handles_.find(access.address.value());
  if (found == unseen_handles_.end() || access.size != 8) return;
  threads[found->second].handle = access.value;
  unseen_handles_.erase(found);
}

void History::on_call(const Thread& thread, const OpenCall& call) {
  const Effect effect = effect_of(call.target);
  if (effect == Effect::kNone || call.count == 0) return;
  const std::uint64_t first = call.words[0];
  switch (effect) {
    case Effect::kSignal:
    case Effect::kBroadcast: {
      const auto found = waiters.find(first);
      if (found == waiters.end() || found->second.empty()) return;
      if (effect == Effect::kBroadcast) return found->second.clear();
      // Who was woken nobody logged: most likely the one that goes on first.
      const auto next = std::ranges::min_element(
          found->second, {}, [&](ThreadId id) { return world_.threads().at(id)->last_number(); });
      found->second.erase(next);
      return;
    }
    case Effect::kSignalAction:
      if (call.count > 1 && call.words[1] != 0) set_action(static_cast<int>(first), Address(call.words[1]));
      return;
    case Effect::kSignalHandler:
      if (call.count > 1) signal_actions[static_cast<int>(first)] = {call.words[1], false};
      return;
    case Effect::kMask:
      if (call.count > 1 && call.words[1] != 0)
        if (const auto set = memory.image().read(Address(call.words[1]), 8))
          blocked_signals = masked(blocked_signals, static_cast<std::uint32_t>(first), *set);
      return;
    case Effect::kSetSpecific:
      if (call.count > 1) specifics.values[{thread.id(), static_cast<std::uint32_t>(first)}] = call.words[1];
      return;
    case Effect::kThreadExitHandler:
      if (call.count > 1) thread_exit_handlers[thread.id()].push_back({first, call.words[1], true});
      return;
    case Effect::kSort: {
      if (call.count < 3 || call.words[2] == 0 || call.words[1] > (1 << 26) / call.words[2]) return;
      std::string given(call.words[1] * call.words[2], '\0');
      const std::span bytes(reinterpret_cast<std::uint8_t*>(given.data()), given.size());
      if (memory.image().read(Address(first), bytes) == given.size())
        sorts[thread.id()] = {Address(first), std::move(given)};
      return;
    }
    default:
      return;
  }
}

void History::note_input(const Thread& thread, const OpenCall& call) {
  const InputFunction* const function = input_function(globals->name_at(Address(call.target)));
  if (function == nullptr) return;
  const std::string path = function->is_path && call.count > function->what
                               ? path_at(memory.image(), Address(call.words[function->what]))
                               : std::string();
  input_recorder->on_call_end(thread.id(), call, *function, path);
}

void History::note_unseen_writes(const OpenCall& call) {
  const auto [found, is_new] = unseen_writes_.try_emplace(call.target, UnseenWrites::kNone);
  if (is_new) found->second = unseen_writes_of(globals->name_at(Address(call.target)));
  if (found->second == UnseenWrites::kNone) return;
  const auto end_of_block = [&](Address at) {
    const auto block = memory.block_around(at);
    return block ? Address(block->first.value() + block->second.size) : at;
  };
  for (const auto& [at, size] :
       extents_of(found->second, {call.words, call.count}, memory.image(), end_of_block)) {
    memory.image().forget(at, size);
    if (on_unseen_write) on_unseen_write(at, size);
  }
}

void History::after_call(Thread& thread, const OpenCall& call) {
  if (input_recorder != nullptr) note_input(thread, call);
  note_unseen_writes(call);
  const Effect effect = effect_of(call.target);
  if (effect == Effect::kNone) return;
  if (effect == Effect::kSelf) {
    awaits_self_[thread.id()] = true;
    return;
  }
  if (call.count == 0) return;
  const std::uint64_t first = call.words[0];
  switch (effect) {
    case Effect::kCreate:
      return memory.image().forget(Address(first), 8);
    case Effect::kEmptySet:
      return memory.image().write(Address(first), std::vector<std::uint8_t>(128, 0));
    case Effect::kFullSet:
      return memory.image().write(Address(first), std::vector<std::uint8_t>(128, 0xff));
    case Effect::kAddSignal:
    case Effect::kRemoveSignal: {
      const auto set = memory.image().read(Address(first), 8);
      if (!set || call.count < 2) return;
      const std::uint64_t bit = bit_of(static_cast<std::uint32_t>(call.words[1]));
      return memory.image().write(Address(first), effect == Effect::kAddSignal ? *set | bit : *set & ~bit, 8);
    }
    case Effect::kKeyCreate:
      if (call.count > 1) specifics.created.emplace_back(Address(first), call.words[1]);
      return memory.image().forget(Address(first), 4);
    case Effect::kSort:
      sorts.erase(thread.id());
      return;
    case Effect::kGuardRelease:
      return memory.image().write(Address(first), 1, 1);
    case Effect::kOnce:
      once_done.insert(first);
      return;
    case Effect::kSemaphoreInit:
      if (call.count > 2) semaphores[first] = static_cast<std::int64_t>(call.words[2] & 0xffffffff);
      return;
    case Effect::kSemaphorePost:
      ++semaphores[first];
      return;
    case Effect::kSemaphoreWait:
      --semaphores[first];
      return;
    case Effect::kExitHandler:
      if (call.count > 1) exit_handlers.push_back({first, call.words[1], true});
      return;
    case Effect::kPlainExitHandler:
      exit_handlers.push_back({first, 0, false});
      return;
    case Effect::kAttributeType:
      if (call.count > 1) mutex_attributes[first] = static_cast<std::uint32_t>(call.words[1]);
      return;
    case Effect::kMutexInit: {
      Lock fresh;
      fresh.kind = 0;
      if (call.count > 1 && call.words[1] != 0)
        if (const auto found = mutex_attributes.find(call.words[1]); found != mutex_attributes.end())
          fresh.kind = found->second;
      locks[first] = fresh;
      return;
    }
    case Effect::kLock:
    case Effect::kUnlock: {
      // Only the outermost of a recursive mutex's locks are in the log. A call without a sequencer by the
      // owner is another one, or its end.
      if (call.sequencers != 0) return;
      const auto found = locks.find(first);
      if (found == locks.end() || found->second.depth == 0 || found->second.owner != thread.id()) return;
      Lock& lock = found->second;
      if (kind_of(lock, first) != kRecursiveMutex) return;
      if (effect == Effect::kLock)
        ++lock.depth;
      else if (lock.depth > 1)
        --lock.depth;
      return;
    }
    case Effect::kDetach:
      for (auto& [id, known] : threads)
        if (known.handle == first) known.is_detached = true;
      return;
    default:
      return;
  }
}

void History::on_opaque(Thread& thread, SiteId site, std::uint64_t value) {
  if (input_recorder != nullptr) input_recorder->on_result(thread.id(), site, value);
  if (!awaits_self_.empty()) {
    if (const auto found = awaits_self_.find(thread.id()); found != awaits_self_.end()) {
      threads[thread.id()].handle = value;
      awaits_self_.erase(found);
      return;
    }
  }
  if (site.value() >= sites_.size()) sites_.resize(site.value() + 1024);
  SiteKind& kind = sites_[site.value()];
  if (kind == SiteKind::kOther) return;
  if (kind == SiteKind::kLocal) return memory.image().touch(Address(value));
  const SitePlace where = world_.program().place_of(site);
  std::size_t function = 0;
  const Point* const point =
      where.instance == nullptr ? nullptr : where.instance->code->point_of(where.site, function);
  const auto* const intrinsic =
      point == nullptr ? nullptr : llvm::dyn_cast_or_null<llvm::IntrinsicInst>(point->instruction);
  if (point != nullptr && (point->kind == PointKind::kLocal || point->kind == PointKind::kByValue)) {
    kind = SiteKind::kLocal;
    memory.image().touch(Address(value));
    return;
  }
  kind = SiteKind::kOther;
  if (intrinsic == nullptr || intrinsic->getIntrinsicID() != llvm::Intrinsic::threadlocal_address) return;
  kind = SiteKind::kThreadLocal;
  const auto* const global =
      llvm::dyn_cast<llvm::GlobalValue>(intrinsic->getArgOperand(0)->stripPointerCasts());
  if (global != nullptr && !thread_local_at(thread.id(), *global))
    note_thread_local(thread.id(), *where.instance, *global, value);
}

namespace {

std::string key_of(const llvm::GlobalValue& global) {
  if (!global.hasLocalLinkage() && global.hasName()) return global.getName().str();
  return std::to_string(reinterpret_cast<std::uintptr_t>(&global));
}

}  // namespace

std::optional<std::uint64_t> History::thread_local_at(ThreadId thread,
                                                      const llvm::GlobalValue& global) const {
  return thread_local_at(thread, key_of(global));
}

std::optional<std::uint64_t> History::thread_local_at(ThreadId thread, const std::string& name) const {
  const auto found = thread_locals_.find({thread, name});
  if (found == thread_locals_.end()) return std::nullopt;
  return found->second;
}

void History::note_thread_local(ThreadId thread, const Instance& instance, const llvm::GlobalValue& global,
                                std::uint64_t address) {
  thread_locals_[{thread, key_of(global)}] = address;
  // Nobody has used it on this thread before, as far as the program's own code goes.
  const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(&global);
  if (variable != nullptr && variable->hasInitializer())
    globals->write(instance, *variable->getInitializer(), Address(address));
}

void History::complete() {
  globals->learn();
  // A comparison that the sort is in looks at elements; what it says is not needed any more (models_sort.cc).
  for (const auto& [id, sort] : sorts)
    for (std::size_t i = 0; i < sort.given.size(); ++i)
      if (const Address at(sort.array.value() + i); !memory.image().is_known(at))
        memory.image().write(at, static_cast<std::uint8_t>(sort.given[i]), 1);
  for (auto& [id, known] : threads)
    if (known.handle == 0) known.handle = memory.allocate_static(8).value();
  // Streams that nobody has used yet: what they are called is all that matters.
  for (const char* name : {"stdin", "stdout", "stderr"})
    if (const Address stream = globals->address_of(name);
        stream.value() != 0 && !memory.image().read(stream, 8))
      memory.image().write(stream, memory.allocate_static(256).value(), 8);
  for (const auto& [address, id] : unseen_handles_)
    memory.image().write(Address(address), threads[id].handle, 8);
}

}  // namespace deadheat::replay::live
