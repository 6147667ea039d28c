#include "report/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>

#include "report/frames.h"
#include "report/names.h"

namespace deadheat::report {
namespace {

class Resolver {
 public:
  Resolver(const RawLog& log, Symbolizer& symbolizer) : log_(log), symbolizer_(symbolizer) {}

  Stack stack(const RawStack& raw) {
    Stack result;
    for (std::uint64_t pc : raw) {
      if (pc == 0) continue;
      // A return address is after the call: the call is what happened, and it may be the last thing of its
      // function.
      const RawModule* module = log_.module_of(pc - 1);
      if (module == nullptr) {
        Location unknown;
        unknown.offset = pc - 1;
        result.push_back(std::move(unknown));
        continue;
      }
      const Stack& frames = symbolizer_.code(module->path, pc - 1 - module->base, module->build_id);
      result.insert(result.end(), frames.begin(), frames.end());
    }
    hide_runtime_frames(result);
    return result;
  }

  Access access(const RawAccess& raw) {
    Access access;
    access.thread = raw.thread;
    access.operation = raw.operation;
    access.size = raw.size;
    access.stack = stack(raw.stack);
    access.location = own_frame(access.stack);
    if (raw.value) access.value = value(*raw.value, raw);
    if (raw.before) access.value_before = value(*raw.before, raw);
    for (const RawLock& lock : raw.locks) {
      access.locks.push_back({data_name(lock.address), lock.address, lock.shared, stack(lock.stack)});
    }
    return access;
  }

  // Before the accesses: their values are read by the variable's type.
  Variable variable(const RawVariable& raw, std::uint64_t address) {
    address_ = address;
    Variable variable;
    variable.kind = raw.kind;
    variable.name = raw.name;
    variable.address = raw.address != 0 ? raw.address : address;
    variable.size = raw.size;
    variable.thread = raw.thread;
    variable.allocated = stack(raw.stack);
    variable.freed = stack(raw.freed);
    variable.declared.function = raw.function;
    variable.declared.file = raw.file;
    variable.declared.line = raw.file.empty() ? 0 : raw.line;
    if (raw.kind == VariableKind::kGlobal || (raw.kind == VariableKind::kUnknown && raw.address == 0)) {
      if (auto symbol = data(address)) {
        variable.kind = VariableKind::kGlobal;
        describe(variable, symbol->first, symbol->second);
      }
    }
    if (raw.kind == VariableKind::kThreadLocal) {
      variable.address = address;
      if (auto symbol = thread_local_data(raw, address)) describe(variable, *symbol, raw.address);
    }
    if (address >= variable.address) variable.offset = address - variable.address;
    return variable;
  }

  // The runtime sends bits. Where the variable's type is known, they are written as what they mean.
  std::string value(const std::string& bits, const RawAccess& raw) const {
    std::uint64_t const size = scalar_size_;
    if (raw.size != (stored_as_ ? 1 : size) || size > 8 || size == 0 || raw.address != address_) return bits;
    std::uint64_t number = 0;
    if (!bits.starts_with("0x")) return bits;
    auto [end, error] = std::from_chars(bits.data() + 2, bits.data() + bits.size(), number, 16);
    if (error != std::errc() || end != bits.data() + bits.size()) return bits;
    if (stored_as_) {
      if (number > 1) return bits;
      number = (*stored_as_)[number] & (~std::uint64_t{0} >> (64 - 8 * size));
    }
    switch (scalar_) {
      case Scalar::kSigned: {
        int unused = 64 - 8 * static_cast<int>(size);
        return std::to_string(static_cast<std::int64_t>(number << unused) >> unused);
      }
      case Scalar::kUnsigned:
        return std::to_string(number);
      case Scalar::kBoolean:
        return number == 0 ? "false" : number == 1 ? "true" : bits;
      case Scalar::kFloat:
        if (size == 4) return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(number)));
        if (size == 8) return fmt::format("{}", std::bit_cast<double>(number));
        return bits;
      case Scalar::kPointer:
        return number == 0 ? "null" : hex(number);
      case Scalar::kUnknown:
        return bits;
    }
    return bits;
  }

  void add_thread(std::vector<Thread>& threads, std::uint32_t id) {
    if (std::any_of(threads.begin(), threads.end(), [&](const Thread& t) { return t.id == id; })) return;
    Thread thread;
    thread.id = id;
    auto it = log_.threads.find(id);
    if (it != log_.threads.end()) {
      thread.name = it->second.name;
      thread.parent = it->second.parent;
      thread.os_id = it->second.os_id;
      thread.created = stack(it->second.stack);
    }
    threads.push_back(std::move(thread));
  }

 private:
  // `base`: where the symbol's addresses are counted from.
  void describe(Variable& variable, const DataSymbol& symbol, std::uint64_t base) {
    variable.name = symbol.name;
    if (!symbol.part.empty()) variable.member = symbol.name + symbol.part;
    scalar_ = symbol.scalar;
    scalar_size_ = symbol.scalar_size;
    stored_as_ = symbol.stored_as;
    variable.size = symbol.size;
    variable.address = symbol.start + base;
    variable.declared = symbol.declared;
  }

  std::optional<DataSymbol> thread_local_data(const RawVariable& raw, std::uint64_t address) {
    const RawModule* module = log_.module_of(raw.module);
    if (module == nullptr || address < raw.address) return std::nullopt;
    return symbolizer_.thread_local_data(module->path, address - raw.address, module->build_id);
  }

  // The symbol and the load bias of its module.
  std::optional<std::pair<DataSymbol, std::uint64_t>> data(std::uint64_t address) {
    const RawModule* module = log_.module_of(address);
    if (module == nullptr) return std::nullopt;
    auto symbol = symbolizer_.data(module->path, address - module->base, module->build_id);
    if (!symbol) return std::nullopt;
    return std::pair(std::move(*symbol), module->base);
  }

  std::string data_name(std::uint64_t address) {
    auto symbol = data(address);
    if (!symbol) return {};
    std::uint64_t offset = address - symbol->second - symbol->first.start;
    if (!symbol->first.part.empty()) return symbol->first.name + symbol->first.part;
    return offset == 0 ? symbol->first.name : symbol->first.name + "+" + std::to_string(offset);
  }

  const RawLog& log_;
  Symbolizer& symbolizer_;
  std::uint64_t address_ = 0;
  Scalar scalar_ = Scalar::kUnknown;
  std::uint64_t scalar_size_ = 0;
  StoredAs stored_as_;
};

}  // namespace

Finding resolve(const RawLog& log, const RawRace& race, Symbolizer& symbolizer) {
  Resolver resolver(log, symbolizer);
  Finding finding;
  if (!race.detector.empty()) finding.detectors.push_back(race.detector);
  finding.why = race.why;
  finding.instances = log.instances_of(race);
  finding.variables.push_back(resolver.variable(race.variable, race.address));
  for (const RawAccess& access : race.accesses) {
    finding.accesses.push_back(resolver.access(access));
    resolver.add_thread(finding.threads, access.thread);
  }
  // A global that the optimiser changed (a number that is only ever 0 or 5 becomes one bit) is one that debug
  // information no longer describes: its bits would be shown as values that nobody wrote.
  const Variable& variable = finding.variables[0];
  bool has_lines = !finding.accesses.empty() && finding.accesses[0].location.line > 0;
  if (variable.kind == VariableKind::kGlobal && variable.declared.line == 0 && has_lines) {
    for (Access& access : finding.accesses) {
      access.value.reset();
      access.value_before.reset();
    }
  }
  return finding;
}

}  // namespace deadheat::report
