// Values that come from outside in a recording, made up in a live world: results of calls, addresses of
// locals and thread-local variables, what an exception's landing pad sees.
//
// Exceptions. An exception on its way lands at the innermost invoke, always: its landing pad is given the
// object and the number of the type that matches, or 0, and then its code goes on as compiled, which for 0
// means to clean up and resume. The real unwinder would have skipped what neither cleans up nor catches; that
// code resumes at once. It would also have ended the program without any clean-up if nobody catches; here
// that is only found when the exception leaves the thread.
#include <fmt/format.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cmath>
#include <cstring>

#include "replay/live/cxx_types.h"
#include "replay/live/live_world.h"
#include "replay/program.h"

namespace deadheat::replay::live {

using namespace llvm;

namespace {

std::optional<double> mathematics(Intrinsic::ID function, double x, double y) {
  switch (function) {
    case Intrinsic::sin:
      return std::sin(x);
    case Intrinsic::cos:
      return std::cos(x);
    case Intrinsic::tan:
      return std::tan(x);
    case Intrinsic::asin:
      return std::asin(x);
    case Intrinsic::acos:
      return std::acos(x);
    case Intrinsic::atan:
      return std::atan(x);
    case Intrinsic::sinh:
      return std::sinh(x);
    case Intrinsic::cosh:
      return std::cosh(x);
    case Intrinsic::tanh:
      return std::tanh(x);
    case Intrinsic::exp:
      return std::exp(x);
    case Intrinsic::exp2:
      return std::exp2(x);
    case Intrinsic::log:
      return std::log(x);
    case Intrinsic::log2:
      return std::log2(x);
    case Intrinsic::log10:
      return std::log10(x);
    case Intrinsic::pow:
      return std::pow(x, y);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> computed(const IntrinsicInst& intrinsic, const std::uint64_t* words) {
  Type* const type = intrinsic.getType();
  const auto argument = [&](unsigned i) -> double {
    if (i >= intrinsic.arg_size()) return 0;
    Type* const of = intrinsic.getArgOperand(i)->getType();
    if (of->isFloatTy()) {
      float value;
      std::memcpy(&value, &words[i], sizeof value);
      return value;
    }
    if (of->isIntegerTy()) return static_cast<std::int32_t>(words[i]);
    double value;
    std::memcpy(&value, &words[i], sizeof value);
    return value;
  };
  if (!type->isFloatTy() && !type->isDoubleTy()) return std::nullopt;
  const std::optional<double> value =
      mathematics(intrinsic.getIntrinsicID() == Intrinsic::powi ? Intrinsic::ID(Intrinsic::pow)
                                                                : intrinsic.getIntrinsicID(),
                  argument(0), argument(1));
  if (!value) return std::nullopt;
  std::uint64_t bits = 0;
  if (type->isFloatTy()) {
    const auto narrow = static_cast<float>(*value);
    std::memcpy(&bits, &narrow, sizeof narrow);
  } else {
    std::memcpy(&bits, &*value, sizeof bits);
  }
  return bits;
}

std::string name_of(const Instruction& instruction) {
  if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction))
    return Intrinsic::getBaseName(intrinsic->getIntrinsicID()).str();
  if (const auto* call = dyn_cast<CallBase>(&instruction); call != nullptr && call->isInlineAsm())
    return "inline assembly";
  return instruction.getOpcodeName();
}

}  // namespace

std::uint64_t LiveWorld::opaque(Thread& thread, SiteId site) {
  LiveThread& self = of(thread);
  const SitePlace where = world_.program().place_of(site);
  std::size_t function = 0;
  const Point* const point =
      where.instance == nullptr ? nullptr : where.instance->code->point_of(where.site, function);
  if (point == nullptr) end(OutcomeKind::kFailed, 0, "a value of no known place");
  const std::uint32_t piece = where.site - point->site;
  const DataLayout& layout = where.instance->code->module().getDataLayout();
  switch (point->kind) {
    case PointKind::kCall:
      return piece < kDhMaxResults ? self.results[piece] : 0;
    case PointKind::kLocal: {
      const auto& local = *cast<AllocaInst>(point->instruction);
      const std::uint64_t size = layout.getTypeAllocSize(local.getAllocatedType()).getFixedValue();
      std::uint64_t count = 1;
      if (const auto* number = dyn_cast<ConstantInt>(local.getArraySize())) count = number->getZExtValue();
      return allocate_local(self, std::max<std::uint64_t>(1, size * count), local.getAlign().value());
    }
    case PointKind::kSetjmp:
      return std::exchange(self.jump_value, 0);
    case PointKind::kLandingPad: {
      if (!self.flying) end(OutcomeKind::kFailed, 0, "a landing pad without an exception");
      if (piece == 0) return self.flying->object;
      return selector_of(self, *where.instance, *cast<LandingPadInst>(point->instruction));
    }
    default:
      break;
  }
  const Instruction& instruction = *point->instruction;
  if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction)) {
    switch (intrinsic->getIntrinsicID()) {
      case Intrinsic::threadlocal_address:
        return thread_local_address(self, *where.instance,
                                    *cast<GlobalValue>(intrinsic->getArgOperand(0)->stripPointerCasts()));
      case Intrinsic::eh_typeid_for:
        return type_number(
            globals()
                .address_of(*where.instance,
                            *cast<GlobalValue>(intrinsic->getArgOperand(0)->stripPointerCasts()))
                .value());
      case Intrinsic::readcyclecounter:
      case Intrinsic::readsteadycounter:
        return clock_;
      case Intrinsic::returnaddress:
      case Intrinsic::frameaddress:
      case Intrinsic::is_constant:
        return 0;
      case Intrinsic::objectsize:
        return cast<ConstantInt>(intrinsic->getArgOperand(1))->isZero() ? ~std::uint64_t{0} : 0;
      default:
        if (const auto value = computed(*intrinsic, thread.hot()->call_words)) return *value;
    }
  }
  end(OutcomeKind::kLeft, 0, "result of " + name_of(instruction));
}

void LiveWorld::effect(Thread& thread, SiteId site) {
  (void)thread;
  const SitePlace where = world_.program().place_of(site);
  std::size_t function = 0;
  const Point* const point =
      where.instance == nullptr ? nullptr : where.instance->code->point_of(where.site, function);
  if (point == nullptr) return;
  if (const auto* intrinsic = dyn_cast<IntrinsicInst>(point->instruction)) {
    switch (intrinsic->getIntrinsicID()) {
      case Intrinsic::vaend:
      case Intrinsic::trap:
      case Intrinsic::debugtrap:
      case Intrinsic::stackrestore:
        return;
      default:
        break;
    }
  }
  end(OutcomeKind::kLeft, 0, "effect of " + name_of(*point->instruction));
}

std::uint64_t LiveWorld::thread_local_address(LiveThread& thread, const Instance& instance,
                                              const GlobalValue& global) {
  const ThreadId id = thread.thread->id();
  if (const auto known = history_.thread_local_at(id, global)) return *known;
  const DataLayout& layout = instance.code->module().getDataLayout();
  const auto* const variable = dyn_cast<GlobalVariable>(&global);
  const std::uint64_t size =
      variable == nullptr ? 64 : layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  const Address address = memory().allocate_static(size);
  history_.note_thread_local(id, instance, global, address.value());
  if (variable == nullptr || !variable->hasInitializer()) {
    const std::vector<std::uint8_t> zeros(size);
    memory().image().write(address, zeros);
  }
  return address.value();
}

// --- Exceptions

std::uint64_t LiveWorld::type_number(std::uint64_t type) {
  return type_numbers_.try_emplace(type, type_numbers_.size() + 1).first->second;
}

std::uint64_t LiveWorld::selector_of(LiveThread& thread, const Instance& instance,
                                     const LandingPadInst& pad) {
  for (unsigned i = 0; i < pad.getNumClauses(); ++i) {
    const Constant* const clause = pad.getClause(i);
    if (pad.isFilter(i)) end(OutcomeKind::kLeft, 0, "an exception specification");
    if (clause->isNullValue()) {
      thread.flying->adjusted = thread.flying->object;
      return type_number(0);
    }
    const auto* const type = cast<GlobalValue>(clause->stripPointerCasts());
    const Match match = match_type(*this, thread.flying->type, type->getName(),
                                   globals().address_of(instance, *type).value());
    if (match.kind == Match::kUnknown)
      end(OutcomeKind::kLeft, 0,
          fmt::format("an exception of a type that is not known to be a {}", match.name));
    if (match.kind == Match::kYes) {
      thread.flying->adjusted = match.is_pointer ? load_number(Address(thread.flying->object), 8)
                                                 : thread.flying->object + match.offset;
      return type_number(globals().address_of(instance, *type).value());
    }
  }
  return 0;
}

void LiveWorld::throw_exception(LiveThread& thread, const Exception& exception) {
  DhReplay& hot = *thread.thread->hot();
  thread.flying = exception;
  if (hot.depth == 0)
    end(OutcomeKind::kSignal, 6,
        fmt::format("an exception that nobody catches ({}): std::terminate",
                    type_name(*this, exception.type)));
  hot.unwinding = kDhToLandingPad;
  hot.target = hot.depth;
}

void LiveWorld::resume_exception(Thread& thread) {
  LiveThread& self = of(thread);
  if (!self.flying) end(OutcomeKind::kLeft, 0, "an exception that was thrown before");
  throw_exception(self, Exception(*self.flying));
}

}  // namespace deadheat::replay::live
