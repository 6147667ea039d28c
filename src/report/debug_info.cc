#include "report/debug_info.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/DebugInfo/DWARF/DWARFCompileUnit.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDie.h>
#include <llvm/DebugInfo/DWARF/DWARFExpression.h>
#include <llvm/DebugInfo/DWARF/DWARFLocationExpression.h>
#include <llvm/DebugInfo/DWARF/DWARFUnit.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ObjectFile.h>

#include <map>
#include <string_view>

namespace deadheat::report {
namespace {

using llvm::DWARFDie;
namespace dwarf = llvm::dwarf;

constexpr std::uint64_t kPointerSize = 8;
// Types nest; a damaged or hostile file may nest them endlessly.
constexpr int kMaxDepth = 32;

std::uint64_t number(const DWARFDie& die, dwarf::Attribute attribute, std::uint64_t otherwise) {
  return dwarf::toUnsigned(die.find(attribute), otherwise);
}

DWARFDie type_of(const DWARFDie& die) {
  return die.getAttributeValueAsReferencedDie(dwarf::DW_AT_type).resolveTypeUnitReference();
}

// The type without names and qualifiers.
DWARFDie bare(DWARFDie type) {
  for (int i = 0; i < kMaxDepth && type; i++) {
    switch (type.getTag()) {
      case dwarf::DW_TAG_typedef:
      case dwarf::DW_TAG_const_type:
      case dwarf::DW_TAG_volatile_type:
      case dwarf::DW_TAG_restrict_type:
      case dwarf::DW_TAG_atomic_type:
        type = type_of(type);
        continue;
      default:
        return type;
    }
  }
  return {};
}

bool is_standard_library(DWARFDie type) {
  for (DWARFDie parent = type.getParent(); parent; parent = parent.getParent()) {
    const char* name = parent.getTag() == dwarf::DW_TAG_namespace ? parent.getShortName() : nullptr;
    if (name != nullptr && std::string_view(name) == "std") return true;
  }
  return false;
}

// Appends the way from `type` to the byte at `offset` in it.
class PartFinder {
 public:
  explicit PartFinder(DataDetails& details) : details_(details) {}

  void walk(DWARFDie type, std::uint64_t offset, int depth = 0) {
    type = bare(type);
    if (!type || depth > kMaxDepth) return;
    switch (type.getTag()) {
      case dwarf::DW_TAG_structure_type:
      case dwarf::DW_TAG_class_type:
        // How the standard library lays out its own things is no help to anybody.
        if (!is_standard_library(type)) walk_members(type, offset, depth);
        break;
      case dwarf::DW_TAG_array_type:
        walk_array(type, offset, depth);
        break;
      case dwarf::DW_TAG_base_type:
      case dwarf::DW_TAG_enumeration_type:
      case dwarf::DW_TAG_pointer_type:
      case dwarf::DW_TAG_reference_type:
        set_scalar(type, offset);
        break;
      default:
        break;  // a union's bytes have several names
    }
  }

 private:
  void walk_members(DWARFDie type, std::uint64_t offset, int depth) {
    for (DWARFDie member : type.children()) {
      bool is_base = member.getTag() == dwarf::DW_TAG_inheritance;
      if (!is_base && member.getTag() != dwarf::DW_TAG_member) continue;
      if (member.find(dwarf::DW_AT_external) || member.find(dwarf::DW_AT_data_bit_offset)) continue;
      DWARFDie member_type = type_of(member);
      std::uint64_t start = number(member, dwarf::DW_AT_data_member_location, 0);
      std::uint64_t size = member_type ? member_type.getTypeSize(kPointerSize).value_or(0) : 0;
      if (offset < start || offset >= start + size) continue;
      const char* name = member.getShortName();
      if (!is_base && name != nullptr && *name != '\0') details_.part += std::string(".") + name;
      walk(member_type, offset - start, depth + 1);
      return;
    }
  }

  void walk_array(DWARFDie type, std::uint64_t offset, int depth) {
    DWARFDie element = type_of(type);
    std::uint64_t size = element ? element.getTypeSize(kPointerSize).value_or(0) : 0;
    if (size == 0) return;
    std::uint64_t index = offset / size;
    // Dimensions from the outside in; the strides are products of what follows.
    std::vector<std::uint64_t> counts;
    for (DWARFDie range : type.children()) {
      if (range.getTag() != dwarf::DW_TAG_subrange_type) continue;
      std::uint64_t count = number(range, dwarf::DW_AT_count, number(range, dwarf::DW_AT_upper_bound, 0) + 1);
      counts.push_back(count == 0 ? 1 : count);
    }
    std::uint64_t stride = 1;
    for (std::size_t i = 1; i < counts.size(); i++) stride *= counts[i];
    for (std::size_t i = 0; i < counts.size() && stride > 0; i++) {
      details_.part += "[" + std::to_string(index / stride) + "]";
      index %= stride;
      stride /= i + 1 < counts.size() ? counts[i + 1] : 1;
    }
    walk(element, offset % size, depth + 1);
  }

  void set_scalar(DWARFDie type, std::uint64_t offset) {
    if (offset != 0) return;  // in the middle of a number
    details_.scalar_size = type.getTypeSize(kPointerSize).value_or(0);
    if (type.getTag() == dwarf::DW_TAG_pointer_type || type.getTag() == dwarf::DW_TAG_reference_type) {
      details_.scalar = Scalar::kPointer;
      return;
    }
    if (type.getTag() == dwarf::DW_TAG_enumeration_type) {
      details_.scalar = Scalar::kSigned;
      return;
    }
    switch (number(type, dwarf::DW_AT_encoding, 0)) {
      case dwarf::DW_ATE_boolean:
        details_.scalar = Scalar::kBoolean;
        break;
      case dwarf::DW_ATE_float:
        details_.scalar = Scalar::kFloat;
        break;
      case dwarf::DW_ATE_signed:
      case dwarf::DW_ATE_signed_char:
        details_.scalar = Scalar::kSigned;
        break;
      case dwarf::DW_ATE_unsigned:
      case dwarf::DW_ATE_unsigned_char:
      case dwarf::DW_ATE_UTF:
        details_.scalar = Scalar::kUnsigned;
        break;
      default:
        break;
    }
  }

  DataDetails& details_;
};

}  // namespace

class DebugInfo::Impl {
 public:
  explicit Impl(const std::string& module) {
    auto file = llvm::object::ObjectFile::createObjectFile(module);
    if (!file) {
      llvm::consumeError(file.takeError());
      return;
    }
    file_ = std::move(*file);
    // What is wrong with a module's debug information is its compiler's business, not this report's.
    auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    context_ = llvm::DWARFContext::create(
        *file_.getBinary(), llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", ignore, ignore);
  }

  std::optional<CompileUnit> unit_of_code(std::uint64_t address) {
    llvm::DWARFCompileUnit* unit = context_ ? context_->getCompileUnitForCodeAddress(address) : nullptr;
    if (unit == nullptr) return std::nullopt;
    CompileUnit result;
    const char* name = unit->getUnitDIE().getShortName();
    const char* directory = unit->getCompilationDir();
    result.file = name == nullptr ? "" : name;
    result.directory = directory == nullptr ? "" : directory;
    return result;
  }

  std::optional<int> line_of_function(std::uint64_t address, const std::string& name) {
    llvm::DWARFCompileUnit* unit = context_ ? context_->getCompileUnitForCodeAddress(address) : nullptr;
    if (unit == nullptr) return std::nullopt;
    auto [functions, is_new] = functions_.try_emplace(unit);
    if (is_new) {
      for (const llvm::DWARFDebugInfoEntry& entry : unit->dies()) {
        if (entry.getTag() != dwarf::DW_TAG_subprogram) continue;
        DWARFDie const die(unit, &entry);
        const char* const linkage_name = die.getLinkageName();
        const char* const its_name = linkage_name != nullptr ? linkage_name : die.getShortName();
        if (its_name == nullptr) continue;
        if (std::uint64_t const line = die.getDeclLine(); line != 0)
          functions->second.try_emplace(llvm::demangle(its_name), static_cast<int>(line));
      }
    }
    auto const found = functions->second.find(name);
    return found != functions->second.end() ? std::optional(found->second) : std::nullopt;
  }

  std::optional<DataDetails> data(std::uint64_t start, std::uint64_t address) {
    if (!context_) return std::nullopt;
    llvm::DWARFUnit* const unit = context_->getCompileUnitForDataAddress(address);
    if (DWARFDie variable = unit != nullptr ? unit->getVariableForAddress(address) : DWARFDie())
      return details_of(variable, address - start, true);
    // What is not stored as it is (StoredAs) is a formula that begins with the address.
    DWARFDie const variable = find_variable(start, Place::kAddress);
    StoredAs const stored_as = variable ? stored_as_of(variable) : std::nullopt;
    std::optional<DataDetails> details = details_of(variable, 0, stored_as.has_value());
    if (details) details->stored_as = stored_as;
    return details;
  }

  std::optional<ThreadLocalSymbol> thread_local_symbol(std::uint64_t offset) {
    const auto* elf = llvm::dyn_cast_or_null<llvm::object::ELFObjectFileBase>(file_.getBinary());
    if (elf == nullptr) return std::nullopt;
    for (const llvm::object::ELFSymbolRef symbol : elf->symbols()) {
      if (symbol.getELFType() != llvm::ELF::STT_TLS) continue;
      llvm::Expected<std::uint64_t> start = symbol.getValue();
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!start || !name) {
        llvm::consumeError(start.takeError());
        llvm::consumeError(name.takeError());
        continue;
      }
      if (offset >= *start && offset - *start < symbol.getSize())
        return ThreadLocalSymbol{llvm::demangle(*name), *start, symbol.getSize()};
    }
    return std::nullopt;
  }

  std::optional<DataDetails> thread_local_data(std::uint64_t start, std::uint64_t offset) {
    if (!context_) return std::nullopt;
    return details_of(find_variable(start, Place::kThreadLocal), offset - start, true);
  }

 private:
  enum class Place { kAddress, kThreadLocal };

  static std::optional<DataDetails> details_of(DWARFDie variable, std::uint64_t offset, bool with_part) {
    if (!variable) return std::nullopt;
    DataDetails details;
    DWARFDie declared = variable;
    if (DWARFDie other = variable.getAttributeValueAsReferencedDie(dwarf::DW_AT_specification))
      declared = other;
    details.declared.file =
        declared.getDeclFile(llvm::DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath);
    details.declared.line = static_cast<int>(declared.getDeclLine());
    if (const char* directory = variable.getDwarfUnit()->getCompilationDir())
      details.declared.directory = directory;
    DWARFDie type = type_of(variable);
    if (!type) type = type_of(declared);
    if (with_part) PartFinder(details).walk(type, offset);
    return details;
  }

  DWARFDie find_variable(std::uint64_t start, Place place) {
    for (const std::unique_ptr<llvm::DWARFUnit>& unit : context_->compile_units()) {
      for (const llvm::DWARFDebugInfoEntry& entry : unit->dies()) {
        if (entry.getTag() != dwarf::DW_TAG_variable) continue;
        DWARFDie const die(unit.get(), &entry);
        auto locations = die.getLocations(dwarf::DW_AT_location);
        if (!locations) {
          llvm::consumeError(locations.takeError());
          continue;
        }
        for (const llvm::DWARFLocationExpression& location : *locations) {
          if (begins_with(*unit, location, place) == start) return die;
        }
      }
    }
    return {};
  }

  static llvm::DWARFExpression expression_of(llvm::DWARFUnit& unit,
                                             const llvm::DWARFLocationExpression& location) {
    llvm::DataExtractor const data(llvm::toStringRef(location.Expr), true, unit.getAddressByteSize());
    return {data, unit.getAddressByteSize(), unit.getFormParams().Format};
  }

  static StoredAs stored_as_of(DWARFDie variable) {
    auto locations = variable.getLocations(dwarf::DW_AT_location);
    if (!locations) {
      llvm::consumeError(locations.takeError());
      return std::nullopt;
    }
    if (locations->size() != 1) return std::nullopt;
    llvm::DWARFExpression const expression = expression_of(*variable.getDwarfUnit(), locations->front());
    auto const if_0 = value_by(expression, 0);
    auto const if_1 = value_by(expression, 1);
    if (!if_0 || !if_1) return std::nullopt;
    return std::array{*if_0, *if_1};
  }

  // What the formula says while the byte at its address is `stored`; nothing if it is of another form than
  // those that the optimiser makes of such variables.
  static std::optional<std::uint64_t> value_by(const llvm::DWARFExpression& formula, std::uint64_t stored) {
    std::vector<std::uint64_t> stack;
    bool is_value = false;
    for (const llvm::DWARFExpression::Operation& operation : formula) {
      if (operation.isError() || is_value) return std::nullopt;
      std::uint8_t const code = operation.getCode();
      if (code >= dwarf::DW_OP_lit0 && code <= dwarf::DW_OP_lit31) {
        stack.push_back(code - dwarf::DW_OP_lit0);
        continue;
      }
      auto const binary = [&stack](auto combine) {
        if (stack.size() < 2) return false;
        std::uint64_t const right = stack.back();
        stack.pop_back();
        stack.back() = combine(stack.back(), right);
        return true;
      };
      bool understood = true;
      switch (code) {
        case dwarf::DW_OP_addr:
        case dwarf::DW_OP_addrx:
        case dwarf::DW_OP_const1u:
        case dwarf::DW_OP_const2u:
        case dwarf::DW_OP_const4u:
        case dwarf::DW_OP_const8u:
        case dwarf::DW_OP_const1s:
        case dwarf::DW_OP_const2s:
        case dwarf::DW_OP_const4s:
        case dwarf::DW_OP_const8s:
        case dwarf::DW_OP_constu:
        case dwarf::DW_OP_consts:
          stack.push_back(operation.getRawOperand(0));
          break;
        case dwarf::DW_OP_deref_size:
          understood = stack.size() == 1 && operation.getRawOperand(0) == 1;
          if (understood) stack.back() = stored;
          break;
        case dwarf::DW_OP_not:
          understood = !stack.empty();
          if (understood) stack.back() = ~stack.back();
          break;
        case dwarf::DW_OP_mul:
          understood = binary([](std::uint64_t a, std::uint64_t b) { return a * b; });
          break;
        case dwarf::DW_OP_plus:
          understood = binary([](std::uint64_t a, std::uint64_t b) { return a + b; });
          break;
        case dwarf::DW_OP_minus:
          understood = binary([](std::uint64_t a, std::uint64_t b) { return a - b; });
          break;
        case dwarf::DW_OP_stack_value:
          is_value = true;
          break;
        default:
          return std::nullopt;
      }
      if (!understood) return std::nullopt;
    }
    return is_value && stack.size() == 1 ? std::optional(stack.back()) : std::nullopt;
  }

  // The address, or the thread-local one, that the expression begins with.
  static std::optional<std::uint64_t> begins_with(llvm::DWARFUnit& unit,
                                                  const llvm::DWARFLocationExpression& location,
                                                  Place place) {
    llvm::DWARFExpression const expression = expression_of(unit, location);
    auto next = expression.begin();
    if (next == expression.end() || next->isError()) return std::nullopt;
    std::uint8_t const code = next->getCode();
    bool const indexed = code == dwarf::DW_OP_addrx || code == dwarf::DW_OP_constx;
    std::uint64_t value = 0;
    switch (code) {
      case dwarf::DW_OP_addr:
      case dwarf::DW_OP_addrx:
      case dwarf::DW_OP_const4u:
      case dwarf::DW_OP_const8u:
      case dwarf::DW_OP_constx:
        value = next->getRawOperand(0);
        break;
      default:
        return std::nullopt;
    }
    if (indexed) {
      auto const item = unit.getAddrOffsetSectionItem(static_cast<std::uint32_t>(value));
      if (!item) return std::nullopt;
      value = item->Address;
    }
    ++next;
    bool const thread_local_one = next != expression.end() && !next->isError() &&
                                  (next->getCode() == dwarf::DW_OP_GNU_push_tls_address ||
                                   next->getCode() == dwarf::DW_OP_form_tls_address);
    bool const is_address = code == dwarf::DW_OP_addr || code == dwarf::DW_OP_addrx;
    bool const wanted = place == Place::kThreadLocal ? thread_local_one : is_address && !thread_local_one;
    return wanted ? std::optional(value) : std::nullopt;
  }

  llvm::object::OwningBinary<llvm::object::ObjectFile> file_;
  std::unique_ptr<llvm::DWARFContext> context_;
  std::map<llvm::DWARFCompileUnit*, std::map<std::string, int>> functions_;  // their first lines
};

DebugInfo::DebugInfo(const std::string& module) : impl_(std::make_unique<Impl>(module)) {}
DebugInfo::~DebugInfo() = default;

std::optional<CompileUnit> DebugInfo::unit_of_code(std::uint64_t address) {
  return impl_->unit_of_code(address);
}

std::optional<int> DebugInfo::line_of_function(std::uint64_t address, const std::string& name) {
  return impl_->line_of_function(address, name);
}

std::optional<DataDetails> DebugInfo::data(std::uint64_t start, std::uint64_t address) {
  return impl_->data(start, address);
}

std::optional<ThreadLocalSymbol> DebugInfo::thread_local_symbol(std::uint64_t offset) {
  return impl_->thread_local_symbol(offset);
}

std::optional<DataDetails> DebugInfo::thread_local_data(std::uint64_t start, std::uint64_t offset) {
  return impl_->thread_local_data(start, offset);
}

}  // namespace deadheat::report
