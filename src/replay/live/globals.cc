#include "replay/live/globals.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Operator.h>

#include "replay/program.h"

namespace deadheat::replay::live {

using namespace llvm;

Globals::Globals(const Program& program, Memory& memory) : program_(program), memory_(memory) {
  for (std::uint32_t number = 0; number < program.instance_count(); ++number) {
    const Instance& instance = program.instance(number);
    const auto& globals = instance.code->plan().globals();
    for (std::size_t i = 0; i < globals.size() && i < instance.globals.size(); ++i) {
      if (instance.globals[i] == 0 || !globals[i]->hasName()) continue;
      const std::string name = globals[i]->getName().str();
      if (!globals[i]->hasLocalLinkage()) addresses_.emplace(name, Address(instance.globals[i]));
      // A declaration's name is what others call it.
      std::string& known = names_[instance.globals[i]];
      if (known.empty() || globals[i]->isDeclaration()) known = name;
    }
  }
  // Functions that no instruction names, but perhaps a table in another module.
  for (std::uint32_t number = 0; number < program.instance_count(); ++number) {
    const Instance& instance = program.instance(number);
    const auto& functions = instance.code->plan().functions();
    for (std::size_t i = 0; i < functions.size() && i < instance.addresses.size(); ++i) {
      const Function& function = *functions[i].function;
      if (instance.addresses[i].value() == 0 || function.hasLocalLinkage() || !function.hasName()) continue;
      addresses_.emplace(function.getName().str(), instance.addresses[i]);
    }
  }
  // Strong definitions last: they are what the linker took.
  for (const bool is_strong : {false, true})
    for (std::uint32_t number = 0; number < program.instance_count(); ++number) {
      const Instance& instance = program.instance(number);
      const auto& globals = instance.code->plan().globals();
      for (std::size_t i = 0; i < globals.size() && i < instance.globals.size(); ++i) {
        const auto* const variable = dyn_cast<GlobalVariable>(globals[i]);
        if (variable == nullptr || !variable->hasInitializer() || instance.globals[i] == 0) continue;
        if (variable->isStrongDefinitionForLinker() == is_strong)
          write(instance, *variable->getInitializer(), Address(instance.globals[i]));
      }
    }
}

std::string_view Globals::name_at(Address address) const {
  const auto found = names_.find(address.value());
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

Address Globals::address_of(std::string_view name) const {
  const auto found = addresses_.find(std::string(name));
  return found == addresses_.end() ? Address() : found->second;
}

Address Globals::address_of(const Instance& instance, const GlobalValue& global) {
  if (const auto index = instance.code->index_of(global); index && *index < instance.globals.size())
    if (instance.globals[*index] != 0) return Address(instance.globals[*index]);
  if (const auto* function = dyn_cast<Function>(&global))
    if (const auto index = instance.code->index_of(*function);
        index && *index < instance.addresses.size() && instance.addresses[*index].value() != 0)
      return instance.addresses[*index];
  if (!global.hasLocalLinkage())
    if (const Address known = address_of(global.getName().str()); known.value() != 0) return known;
  Address& address = made_up_[&global];
  if (address.value() != 0) return address;
  const auto* const variable = dyn_cast<GlobalVariable>(&global);
  std::uint64_t size = 64;
  if (variable != nullptr && variable->getValueType()->isSized())
    size = instance.code->module().getDataLayout().getTypeAllocSize(variable->getValueType()).getFixedValue();
  const Address made_up = memory_.allocate_static(size);
  address = made_up;
  if (global.hasName()) {
    names_[made_up.value()] = global.getName().str();
    if (!global.hasLocalLinkage()) addresses_.emplace(global.getName().str(), made_up);
  }
  if (variable != nullptr && variable->hasInitializer())
    write(instance, *variable->getInitializer(), made_up);
  return made_up;
}

// An address or number that an initialiser computes.
bool Globals::evaluate(const Instance& instance, const Constant& constant, std::uint64_t& value,
                       const GlobalVariable*& made_up, std::uint64_t& base) {
  const DataLayout& layout = instance.code->module().getDataLayout();
  if (const auto* number = dyn_cast<ConstantInt>(&constant)) {
    if (number->getBitWidth() > 64) return false;
    value = number->getZExtValue();
    return true;
  }
  if (isa<ConstantPointerNull>(constant)) {
    value = 0;
    return true;
  }
  if (const auto* global = dyn_cast<GlobalValue>(&constant)) {
    value = address_of(instance, *global).value();
    if (const auto* variable = dyn_cast<GlobalVariable>(global);
        variable != nullptr && made_up_.contains(global)) {
      made_up = variable;
      base = value;
    }
    return true;
  }
  if (isa<DSOLocalEquivalent>(constant) || isa<NoCFIValue>(constant))
    return evaluate(instance, *cast<Constant>(constant.getOperand(0)), value, made_up, base);
  const auto* const expression = dyn_cast<ConstantExpr>(&constant);
  if (expression == nullptr) return false;
  if (const auto* element = dyn_cast<GEPOperator>(expression)) {
    APInt offset(64, 0);
    if (!element->accumulateConstantOffset(layout, offset)) return false;
    if (!evaluate(instance, *cast<Constant>(element->getPointerOperand()), value, made_up, base))
      return false;
    value += static_cast<std::uint64_t>(offset.getSExtValue());
    return true;
  }
  std::uint64_t left = 0, right = 0;
  const auto operand = [&](unsigned i, std::uint64_t& result) {
    return evaluate(instance, *cast<Constant>(expression->getOperand(i)), result, made_up, base);
  };
  switch (expression->getOpcode()) {
    case Instruction::BitCast:
    case Instruction::AddrSpaceCast:
    case Instruction::IntToPtr:
    case Instruction::PtrToInt:
    case Instruction::Trunc:
      return operand(0, value);
    case Instruction::Add:
    case Instruction::Sub:
      if (!operand(0, left) || !operand(1, right)) return false;
      value = expression->getOpcode() == Instruction::Add ? left + right : left - right;
      made_up = nullptr;
      return true;
    default:
      return false;
  }
}

void Globals::write(const Instance& instance, const Constant& constant, Address address) {
  const DataLayout& layout = instance.code->module().getDataLayout();
  Type* const type = constant.getType();
  if (!type->isSized()) return;
  MemoryImage& image = memory_.image();
  const std::uint64_t size = layout.getTypeStoreSize(type).getFixedValue();
  if (size == 0) return;
  if (constant.isNullValue() || isa<UndefValue>(constant)) {
    static const std::vector<std::uint8_t> zeros(65536);
    for (std::uint64_t at = 0; at < size; at += zeros.size())
      image.write(Address(address.value() + at),
                  std::span(zeros).first(std::min<std::uint64_t>(zeros.size(), size - at)));
    return;
  }
  if (const auto* data = dyn_cast<ConstantDataSequential>(&constant)) {
    const StringRef raw = data->getRawDataValues();
    image.write(address, std::span(reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size()));
    return;
  }
  if (const auto* structure = dyn_cast<ConstantStruct>(&constant)) {
    const StructLayout* const fields = layout.getStructLayout(structure->getType());
    // Padding is zero in a file.
    std::vector<std::uint8_t> zeros(size);
    image.write(address, zeros);
    for (unsigned i = 0; i < structure->getNumOperands(); ++i)
      write(instance, *structure->getOperand(i),
            Address(address.value() + fields->getElementOffset(i).getFixedValue()));
    return;
  }
  if (isa<ConstantArray>(constant) || isa<ConstantVector>(constant)) {
    Type* const element = constant.getOperand(0)->getType();
    const std::uint64_t stride = layout.getTypeAllocSize(element).getFixedValue();
    for (unsigned i = 0; i < constant.getNumOperands(); ++i)
      write(instance, *cast<Constant>(constant.getOperand(i)), Address(address.value() + i * stride));
    return;
  }
  if (isa<ConstantFP>(constant) || (isa<ConstantInt>(constant) && size > 8)) {
    const APInt bits = isa<ConstantFP>(constant) ? cast<ConstantFP>(constant).getValueAPF().bitcastToAPInt()
                                                 : cast<ConstantInt>(constant).getValue();
    std::vector<std::uint8_t> bytes(size);
    for (std::uint64_t i = 0; i < size && 8 * i < bits.getBitWidth(); ++i)
      bytes[i] = static_cast<std::uint8_t>(bits.extractBitsAsZExtValue(
          std::min(8u, bits.getBitWidth() - static_cast<unsigned>(8 * i)), static_cast<unsigned>(8 * i)));
    image.write(address, bytes);
    return;
  }
  std::uint64_t value = 0, base = 0;
  const GlobalVariable* made_up = nullptr;
  if (size > 8 || !evaluate(instance, constant, value, made_up, base)) return;
  image.write(address, value, static_cast<std::uint32_t>(size));
  if (made_up != nullptr && size == 8) slots_.push_back({address, value, value - base, &instance, made_up});
}

void Globals::learn() {
  // Writing a learnt global may add slots; those have not been loaded through yet.
  const std::vector<Slot> slots = slots_;
  for (const Slot& slot : slots) {
    const auto now = memory_.image().read(slot.where, 8);
    if (!now || *now == slot.made_up) continue;
    const Address found(*now - slot.offset);
    if (!memory_.image().has_page(found)) continue;
    // The program may have stored another pointer there; only bytes that nobody has seen are filled in.
    const std::uint64_t size =
        slot.instance->code->module().getDataLayout().getTypeAllocSize(slot.global->getValueType());
    if (!slot.global->isConstant() || !slot.global->hasInitializer() || size > 4096) continue;
    const auto guess = made_up_.find(slot.global);
    if (guess == made_up_.end()) continue;
    bool agrees = true;
    std::vector<std::pair<Address, std::uint8_t>> unknown;
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto wanted = memory_.image().read(Address(guess->second.value() + i), 1);
      const auto there = memory_.image().read(Address(found.value() + i), 1);
      if (!wanted) continue;
      if (!there)
        unknown.emplace_back(Address(found.value() + i), static_cast<std::uint8_t>(*wanted));
      else
        agrees &= *there == *wanted;
    }
    if (!agrees || unknown.size() == size) continue;
    for (const auto& [at, byte] : unknown) memory_.image().write(at, byte, 1);
  }
}

}  // namespace deadheat::replay::live
