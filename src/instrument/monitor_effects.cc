#include "instrument/monitor_effects.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "instrument/harmless_calls.h"
#include "instrument/hooks.h"
#include "instrument/sanitizer_marks.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

// All of these are interposed (docs/interposition.md), return, and throw nothing.
bool is_release_function(StringRef name) {
  static const StringSet<>* const names = new StringSet<>{"pthread_mutex_unlock",
                                                          "pthread_rwlock_unlock",
                                                          "pthread_spin_unlock",
                                                          "pthread_cond_signal",
                                                          "pthread_cond_broadcast",
                                                          "pthread_create",
                                                          "sem_post",
                                                          "mtx_unlock",
                                                          "cnd_signal",
                                                          "cnd_broadcast",
                                                          "thrd_create"};
  return names->contains(name);
}

// These may wait for ever.
bool is_acquire_function(StringRef name) {
  static const StringSet<>* const names = new StringSet<>{"pthread_mutex_lock",
                                                          "pthread_mutex_trylock",
                                                          "pthread_mutex_timedlock",
                                                          "pthread_rwlock_rdlock",
                                                          "pthread_rwlock_wrlock",
                                                          "pthread_rwlock_tryrdlock",
                                                          "pthread_rwlock_trywrlock",
                                                          "pthread_spin_lock",
                                                          "pthread_spin_trylock",
                                                          "pthread_join",
                                                          "sem_wait",
                                                          "sem_trywait",
                                                          "sem_timedwait",
                                                          "mtx_lock",
                                                          "mtx_trylock",
                                                          "thrd_join"};
  return names->contains(name);
}

// Of these the runtime hears when they have acquired, which looks to it like a signal handler's beginning:
// what it knows to lie before the call must be told before.
bool is_heard_acquiring(StringRef name) {
  return name.starts_with("sem_") || name == "pthread_join" || name == "thrd_join";
}

}  // namespace

bool has_known_body(const Function& function) {
  return !function.isDeclaration() && !function.isInterposable() &&
         !function.hasFnAttribute(Attribute::Naked);
}

MonitorEffects::MonitorEffects(const Module& module, const SyncFreeFunctions& sync_free)
    : sync_free_(sync_free) {
  for (const Function& function : module)
    if (has_known_body(function)) summaries_[&function].tells = !is_excluded(function);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function& function : module) {
      const auto found = summaries_.find(&function);
      if (found == summaries_.end()) continue;
      Summary summary;
      summary.tells = found->second.tells;
      for (const Instruction& instruction : instructions(function)) {
        const RegionEffects effects = effects_of(instruction);
        summary.acquires |= effects.acquires;
        summary.releases |= effects.releases;
        if (summary.acquires && summary.releases) break;
      }
      changed |= summary.acquires != found->second.acquires || summary.releases != found->second.releases;
      summaries_[&function] = summary;
    }
  }
}

RegionEffects MonitorEffects::effects_of_call(const CallBase& call) const {
  RegionEffects effects;
  const Function* const callee = call.getCalledFunction();
  if (callee && Hooks::is_hook_name(callee->getName())) return effects;
  if (callee && callee->isDeclaration() && !call.isTerminator() && is_release_function(callee->getName())) {
    effects.releases = effects.only_releases = true;
    return effects;
  }
  if (callee && callee->isDeclaration() && is_acquire_function(callee->getName())) {
    effects.acquires = effects.may_not_continue = true;
    if (is_heard_acquiring(callee->getName())) effects.telling = Telling::kAsks;
    return effects;
  }
  const Effects plain = sync_free_.effects_of(call);
  if (sync_free_.is_sync_free(call)) {
    effects.may_not_continue = plain.may_not_continue;
    return effects;
  }
  effects.acquires = effects.releases = effects.may_not_continue = true;
  if (call.isInlineAsm()) {
    effects.may_not_continue = false;
    effects.telling = Telling::kRelease;
    return effects;
  }
  if (callee && callee->isIntrinsic()) {  // has no address to ask about
    effects.telling = Telling::kRelease;
    return effects;
  }
  effects.telling = callee && callee->isDeclaration() && is_harmless_library_function(callee->getName())
                        ? Telling::kAsksWhose
                        : Telling::kAsks;
  const auto found = callee ? summaries_.find(callee) : summaries_.end();
  if (found == summaries_.end() || call.hasFnAttr(Attribute::ReturnsTwice)) return effects;
  effects.acquires = found->second.acquires || found->second.releases;
  effects.releases = found->second.releases;
  effects.may_not_continue = !call.doesNotThrow() || !call.hasFnAttr(Attribute::WillReturn);
  // A body we may not change releases unseen; one that is instrumented tells by itself. Of an inline function
  // the linker keeps one of many bodies, perhaps that of an object which is not instrumented.
  if (effects.releases && !found->second.tells)
    effects.telling = Telling::kRelease;
  else if (!effects.releases || callee->isDefinitionExact())
    effects.telling = Telling::kNothing;
  return effects;
}

RegionEffects MonitorEffects::effects_of(const Instruction& instruction) const {
  if (const auto* call = dyn_cast<CallBase>(&instruction)) return effects_of_call(*call);
  const Effects plain = sync_free_.effects_of(instruction);
  RegionEffects effects;
  effects.acquires = plain.acquires;
  effects.releases = plain.releases;
  effects.may_not_continue = plain.may_not_continue;
  if (plain.releases) effects.telling = Telling::kRelease;
  effects.only_releases = plain.releases && !plain.acquires && !instruction.isTerminator();
  return effects;
}

}  // namespace deadheat::instrument
