#include "instrument/stream_calls.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "runtime/abi.h"

namespace deadheat::instrument {

using namespace llvm;

namespace {

constexpr uint32_t kFormattedOutput =
    DH_STREAM_OUTPUT | DH_STREAM_PUTS | DH_STREAM_FORMATS | DH_STREAM_CLEARS_WIDTH;
constexpr uint32_t kOutput = DH_STREAM_OUTPUT | DH_STREAM_PUTS;
constexpr uint32_t kFormattedInput = DH_STREAM_INPUT | DH_STREAM_GETS | DH_STREAM_FORMATS;
constexpr uint32_t kInput = DH_STREAM_INPUT | DH_STREAM_GETS | DH_STREAM_COUNTS;

uint32_t output_member(StringRef name) {
  if (name.starts_with("lsEPF") || name.starts_with("lsEPSt15basic_streambuf")) return 0;
  if (name.starts_with("lsE") || name.starts_with("9_M_insertI")) return kFormattedOutput;
  return StringSwitch<uint32_t>(name)
      .Cases("3putEc", "3putEw", kOutput)
      .Cases("5writeEPKcl", "5writeEPKwl", kOutput | DH_STREAM_READS_RANGE)
      .Case("5tellpEv", DH_STREAM_OUTPUT | DH_STREAM_LOOKS)
      .Default(0);
}

uint32_t input_member(StringRef name) {
  if (name.starts_with("rsEPF") || name.starts_with("rsEPSt15basic_streambuf")) return 0;
  if (name.starts_with("rsER") || name.starts_with("10_M_extractI"))
    return kFormattedInput | DH_STREAM_FILLS_OBJECT;
  if (name.starts_with("3getE") || name.starts_with("4readE") || name.starts_with("7getlineE") ||
      name.starts_with("6ignoreE") || name.starts_with("8readsomeE"))
    return kInput;
  return name.starts_with("4peekE") ? DH_STREAM_INPUT | DH_STREAM_COUNTS : 0;
}

// Functions that are no members.
uint32_t free_function(StringRef name) {
  const bool of_string = name.contains("7__cxx1112basic_string");
  if (name.starts_with("St16__ostream_insertI")) return kFormattedOutput | DH_STREAM_READS_RANGE;
  if (name.starts_with("St4endlI") || name.starts_with("St4endsI")) return kOutput;
  if (name.starts_with("StlsI") && name.contains("St13basic_ostreamI")) {
    if (of_string) return kFormattedOutput | DH_STREAM_READS_STRING;
    // A text or a character, of whatever sign. A character that has no width to fill is just put.
    const char last = name.back();
    if (last != 'c' && last != 'w' && last != 'a' && last != 'h') return 0;
    return name.drop_back().ends_with("PK") ? kFormattedOutput : kOutput | DH_STREAM_FORMATS;
  }
  if (name.starts_with("StrsI") && name.contains("St13basic_istreamI"))
    return of_string ? kFormattedInput | DH_STREAM_FILLS_STRING : 0;
  if (name.starts_with("St7getlineI") && of_string)
    return DH_STREAM_INPUT | DH_STREAM_GETS | DH_STREAM_FILLS_STRING;
  return 0;
}

// Of the classes that own their buffer, and of buffers (of which the runtime is told with no kind of stream):
// its contents are looked at, or replaced.
uint32_t buffer_member(StringRef name) {
  if (name.contains("basic_stringbufI"))
    return name.ends_with("EE3strEv")   ? DH_STREAM_LOOKS
           : name.contains("EE3strERK") ? DH_STREAM_NEW_BUFFER
                                        : 0;
  const bool is_string_stream = name.contains("stringstreamI");
  const uint32_t direction = name.contains("basic_i") ? DH_STREAM_INPUT : DH_STREAM_OUTPUT;
  if (is_string_stream && name.ends_with("EE3strEv")) return direction | DH_STREAM_LOOKS;
  if (is_string_stream && name.contains("EE3strERK")) return direction | DH_STREAM_NEW_BUFFER;
  if (name.contains("fstreamI") && name.ends_with("EE5closeEv")) return direction | DH_STREAM_NEW_BUFFER;
  return 0;
}

// The manipulators that write, given to operator<< by their address.
bool is_writing_manipulator(const Value* function) {
  const auto* manipulator = dyn_cast<Function>(function->stripPointerCasts());
  return manipulator != nullptr && (manipulator->getName().starts_with("_ZSt4endlI") ||
                                    manipulator->getName().starts_with("_ZSt4endsI"));
}

struct Told {
  CallBase* call;
  uint32_t use;
  unsigned stream;  // which argument
};

// After the call, where it returned.
Instruction* place_after(CallBase& call) {
  auto* invoke = dyn_cast<InvokeInst>(&call);
  if (invoke == nullptr) return call.getNextNode();
  BasicBlock* normal = invoke->getNormalDest();
  if (normal->getSinglePredecessor() == nullptr) normal = SplitEdge(invoke->getParent(), normal);
  return normal->getFirstNonPHI();
}

void tell(const Told& told, Hooks& hooks) {
  CallBase& call = *told.call;
  const auto argument = [&](unsigned index) { return call.getArgOperand(told.stream + index); };
  const bool has_more = call.arg_size() > told.stream + 1;
  const bool has_size = call.arg_size() > told.stream + 2;
  const DebugLoc line = location_of(call);
  IRBuilder<> before(&call);
  before.SetCurrentDebugLocation(line);
  Value* use = before.getInt32(told.use);
  // Nothing to put moves nothing.
  const auto unless_empty = [&](Value* size) {
    return before.CreateSelect(before.CreateIsNull(size), before.getInt32(told.use & ~DH_STREAM_PUTS), use);
  };
  if ((told.use & DH_STREAM_READS_RANGE) != 0 && has_size) {
    Value* size = argument(2);
    use = unless_empty(size);
    if (call.getCalledFunction()->getName().contains("IwSt"))
      size = before.CreateShl(size, ConstantInt::get(size->getType(), 2));
    hooks.call(before, "__dh_read_range", {argument(1), size});
  }
  if ((told.use & DH_STREAM_READS_STRING) != 0 && has_more) {
    hooks.call(before, "__dh_stream_text", {argument(1), use});
    use = unless_empty(before.CreateLoad(before.getInt64Ty(),
                                         before.CreateConstGEP1_64(before.getInt64Ty(), argument(1), 1)));
  }
  hooks.call(before, "__dh_stream", {argument(0), use});
  if ((told.use & (DH_STREAM_FILLS_OBJECT | DH_STREAM_FILLS_STRING)) == 0 || !has_more) return;
  IRBuilder<> after(place_after(call));
  after.SetCurrentDebugLocation(line);
  hooks.call(after, "__dh_stream_filled", {argument(0), argument(1), after.getInt32(told.use)});
}

// How many bytes an extraction fills, by the last letter of its name (the type in the ABI's code).
uint32_t size_of_target(StringRef name) {
  if (name.starts_with("_ZNSi") || name.contains("basic_istreamI")) {
    const size_t at = name.find("10_M_extractI");
    const char code = at != StringRef::npos ? name[at + 13] : name.back();
    const bool is_pointer = at != StringRef::npos ? name[at + 13] == 'P' : name.ends_with("RPv");
    if (is_pointer) return 8;
    switch (code) {
      case 'b':
        return 1;
      case 's':
      case 't':
        return 2;
      case 'i':
      case 'j':
      case 'f':
        return 4;
      case 'l':
      case 'm':
      case 'x':
      case 'y':
      case 'd':
        return 8;
      case 'e':
        return 10;
    }
  }
  return 0;
}

}  // namespace

uint32_t stream_use_of(StringRef name) {
  if (!name.consume_front("_Z")) return 0;
  const StringRef whole = name;
  if (name.consume_front("NSo") || name.consume_front("NSt13basic_ostreamIwSt11char_traitsIwEE"))
    return output_member(name);
  if (name.consume_front("NSi") || name.consume_front("NSt13basic_istreamIwSt11char_traitsIwEE")) {
    const uint32_t use = input_member(name);
    return use | ((use & DH_STREAM_FILLS_OBJECT) != 0 ? size_of_target(("_ZNSi" + name).str()) << 24 : 0);
  }
  if (name.consume_front("NSt9basic_iosIcSt11char_traitsIcEE") ||
      name.consume_front("NSt9basic_iosIwSt11char_traitsIwEE"))
    return name.starts_with("5clearE") || name.starts_with("8setstateE")
               ? DH_STREAM_IOS | DH_STREAM_SETS_STATE
               : 0;
  if (name.consume_front("NKSt9basic_iosIcSt11char_traitsIcEE") ||
      name.consume_front("NKSt9basic_iosIwSt11char_traitsIwEE"))
    return StringSwitch<uint32_t>(name)
        .Cases("4goodEv", "3eofEv", "4failEv", "3badEv", "7rdstateEv", "cvbEv", "ntEv", DH_STREAM_IOS)
        .Default(0);
  if (whole.starts_with("N")) return buffer_member(whole);
  const uint32_t use = free_function(whole);
  return use | ((use & (DH_STREAM_READS_STRING | DH_STREAM_FILLS_STRING)) != 0
                    ? (whole.contains("IwSt") ? 4u : 1u) << 24
                    : 0);
}

bool tell_of_streams(Function& function, Hooks& hooks) {
  SmallVector<Told, 16> all;
  for (BasicBlock& block : function) {
    for (Instruction& instruction : block) {
      auto* call = dyn_cast<CallBase>(&instruction);
      const Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
      if (callee == nullptr || callee->isIntrinsic() || !callee->getName().starts_with("_Z")) continue;
      uint32_t use = stream_use_of(callee->getName());
      const StringRef name = callee->getName();
      if (use == 0 && name.contains("lsEPF") && call->arg_size() == 2 &&
          is_writing_manipulator(call->getArgOperand(1)))
        use = kOutput;
      const unsigned stream = call->hasStructRetAttr() ? 1 : 0;
      if (use != 0 && call->arg_size() > stream && call->getArgOperand(stream)->getType()->isPointerTy())
        all.push_back({call, use, stream});
    }
  }
  for (const Told& told : all) tell(told, hooks);
  return !all.empty();
}

}  // namespace deadheat::instrument
