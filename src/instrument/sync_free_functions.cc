#include "instrument/sync_free_functions.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

// Functions of libc and libm that touch nothing but their arguments, errno and the locale's tables, and call
// nothing back.
const StringSet<>& sync_free_table() {
  static const StringSet<>* const table = [] {
    auto* names = new StringSet<>;
    for (StringRef name : {"memcmp",
                           "memchr",
                           "memrchr",
                           "rawmemchr",
                           "memmem",
                           "bcmp",
                           "memcpy",
                           "memmove",
                           "memset",
                           "mempcpy",
                           "strlen",
                           "strnlen",
                           "strcmp",
                           "strncmp",
                           "strcasecmp",
                           "strncasecmp",
                           "strchr",
                           "strrchr",
                           "strchrnul",
                           "strstr",
                           "strcasestr",
                           "strspn",
                           "strcspn",
                           "strpbrk",
                           "strcpy",
                           "strncpy",
                           "stpcpy",
                           "stpncpy",
                           "strcat",
                           "strncat",
                           "wcslen",
                           "wmemcpy",
                           "wmemset",
                           "wmemcmp",
                           "wcscmp",
                           "abs",
                           "labs",
                           "llabs",
                           "div",
                           "ldiv",
                           "lldiv",
                           "atoi",
                           "atol",
                           "atoll",
                           "atof",
                           "strtol",
                           "strtoll",
                           "strtoul",
                           "strtoull",
                           "strtod",
                           "strtof",
                           "isalnum",
                           "isalpha",
                           "isblank",
                           "iscntrl",
                           "isdigit",
                           "isgraph",
                           "islower",
                           "isprint",
                           "ispunct",
                           "isspace",
                           "isupper",
                           "isxdigit",
                           "isascii",
                           "tolower",
                           "toupper",
                           "__ctype_b_loc",
                           "__ctype_tolower_loc",
                           "__ctype_toupper_loc",
                           "__errno_location",
                           "htons",
                           "htonl",
                           "ntohs",
                           "ntohl",
                           "ffs",
                           "ffsl",
                           "ffsll"})
      names->insert(name);
    for (StringRef name :
         {"acos",      "acosh",    "asin",      "asinh",  "atan",   "atan2",   "atanh",   "cbrt",
          "ceil",      "copysign", "cos",       "cosh",   "erf",    "erfc",    "exp",     "exp2",
          "expm1",     "fabs",     "fdim",      "floor",  "fma",    "fmax",    "fmin",    "fmod",
          "frexp",     "hypot",    "ilogb",     "ldexp",  "log",    "log10",   "log1p",   "log2",
          "logb",      "modf",     "lrint",     "lround", "llrint", "llround", "nan",     "nearbyint",
          "nextafter", "pow",      "remainder", "remquo", "rint",   "round",   "scalbln", "scalbn",
          "sin",       "sincos",   "sinh",      "sqrt",   "tan",    "tanh",    "tgamma",  "trunc",
          "roundeven", "exp10"}) {
      names->insert(name);
      names->insert((name + "f").str());
      names->insert((name + "l").str());
    }
    return names;
  }();
  return *table;
}

bool touches_memory(const CallBase& call) {
  const auto* assembly = cast<InlineAsm>(call.getCalledOperand());
  return assembly->hasSideEffects() || call.mayReadOrWriteMemory();
}

bool acquires(AtomicOrdering ordering) { return isAcquireOrStronger(ordering); }
bool releases(AtomicOrdering ordering) { return isReleaseOrStronger(ordering); }

void add_order(Effects& effects, AtomicOrdering ordering) {
  effects.acquires |= acquires(ordering);
  effects.releases |= releases(ordering);
}

// Orders of atomic instructions. Ordinary accesses, volatile ones too, order nothing.
Effects order_of(const Instruction& instruction) {
  Effects effects;
  if (const auto* load = dyn_cast<LoadInst>(&instruction)) {
    if (load->isAtomic()) effects.acquires = acquires(load->getOrdering());
  } else if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
    if (store->isAtomic()) effects.releases = releases(store->getOrdering());
  } else if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
    add_order(effects, update->getOrdering());
  } else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    add_order(effects, exchange->getSuccessOrdering());
    add_order(effects, exchange->getFailureOrdering());
  } else if (const auto* fence = dyn_cast<FenceInst>(&instruction)) {
    if (fence->getSyncScopeID() != SyncScope::SingleThread) add_order(effects, fence->getOrdering());
  }
  return effects;
}

}  // namespace

SyncFreeFunctions::SyncFreeFunctions(const Module& module, bool analyse) : analyse_(analyse) {
  if (!analyse) return;
  for (const Function& function : module)
    if (!function.isDeclaration() && !function.isInterposable() && !function.hasFnAttribute(Attribute::Naked))
      sync_free_.insert(&function);
  // Start from "all of them" and strike out what cannot be, until nothing changes: recursion stays in unless
  // something else speaks against it.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Function& function : module) {
      if (!sync_free_.contains(&function) || has_sync_free_body(function)) continue;
      sync_free_.erase(&function);
      changed = true;
    }
  }
}

bool SyncFreeFunctions::has_sync_free_body(const Function& function) const {
  for (const Instruction& instruction : instructions(function)) {
    const Effects order = order_of(instruction);
    if (order.acquires || order.releases) return false;
    if (const auto* call = dyn_cast<CallBase>(&instruction))
      if (!is_sync_free(*call)) return false;
  }
  return true;
}

bool SyncFreeFunctions::is_sync_free(const CallBase& call) const {
  if (call.isInlineAsm()) return !touches_memory(call);
  // A call that returns twice comes back with whatever happened in between.
  if (call.hasFnAttr(Attribute::ReturnsTwice)) return false;
  const Function* callee = call.getCalledFunction();
  if (callee && callee->isIntrinsic())
    return call.hasFnAttr(Attribute::NoSync) || isa<MemIntrinsic>(call) || isa<LifetimeIntrinsic>(call) ||
           isa<DbgInfoIntrinsic>(call) || !call.mayReadOrWriteMemory();
  if (!analyse_) return false;
  if (call.hasFnAttr(Attribute::NoSync)) return true;
  if (!callee) return false;
  if (sync_free_.contains(callee)) return true;
  return callee->isDeclaration() && sync_free_table().contains(callee->getName());
}

Effects SyncFreeFunctions::effects_of(const Instruction& instruction) const {
  Effects effects = order_of(instruction);
  const auto* call = dyn_cast<CallBase>(&instruction);
  if (!call) {
    effects.may_not_continue = !instruction.isTerminator() && instruction.mayThrow();
    return effects;
  }
  if (!is_sync_free(*call)) {
    effects.acquires = effects.releases = effects.may_not_continue = true;
    return effects;
  }
  const Function* callee = call->getCalledFunction();
  const bool known = callee && (callee->isIntrinsic() || (analyse_ && callee->isDeclaration() &&
                                                          sync_free_table().contains(callee->getName())));
  effects.may_not_continue = !known && !call->isInlineAsm() && (!call->doesNotThrow() || !call->willReturn());
  if (callee && callee->isIntrinsic()) effects.may_not_continue = call->doesNotReturn() || call->mayThrow();
  return effects;
}

}  // namespace deadheat::instrument
