#include "report/resolve.h"

#include <algorithm>
#include <string_view>

#include "report/frames.h"

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
    access.value = raw.value;
    access.value_before = raw.before;
    for (const RawLock& lock : raw.locks) {
      access.locks.push_back({data_name(lock.address), lock.address, lock.shared, stack(lock.stack)});
    }
    return access;
  }

  Variable variable(const RawVariable& raw, std::uint64_t address) {
    Variable variable;
    variable.kind = raw.kind;
    variable.name = raw.name;
    variable.address = raw.address != 0 ? raw.address : address;
    variable.size = raw.size;
    variable.thread = raw.thread;
    variable.allocated = stack(raw.stack);
    variable.freed = stack(raw.freed);
    variable.declared.function = raw.function;
    if (raw.kind == VariableKind::kGlobal || (raw.kind == VariableKind::kUnknown && raw.address == 0)) {
      if (auto symbol = data(address)) {
        variable.kind = VariableKind::kGlobal;
        variable.name = symbol->first.name;
        variable.size = symbol->first.size;
        variable.address = symbol->first.start + symbol->second;
        variable.declared = symbol->first.declared;
      }
    }
    if (address >= variable.address) variable.offset = address - variable.address;
    return variable;
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
    return offset == 0 ? symbol->first.name : symbol->first.name + "+" + std::to_string(offset);
  }

  const RawLog& log_;
  Symbolizer& symbolizer_;
};

}  // namespace

Finding resolve(const RawLog& log, const RawRace& race, Symbolizer& symbolizer) {
  Resolver resolver(log, symbolizer);
  Finding finding;
  if (!race.detector.empty()) finding.detectors.push_back(race.detector);
  finding.why = race.why;
  finding.variables.push_back(resolver.variable(race.variable, race.address));
  for (const RawAccess& access : race.accesses) {
    finding.accesses.push_back(resolver.access(access));
    resolver.add_thread(finding.threads, access.thread);
  }
  return finding;
}

}  // namespace deadheat::report
