#include "cli/recording_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/witness_prefix.h"
#include "replay/program.h"
#include "replay/sites.h"
#include "replay/variables.h"

namespace deadheat::cli {

using replay::Program;
using replay::World;

std::vector<SiteId> stack_at(const World& world, ThreadId thread, SiteId site) {
  std::vector<SiteId> stack = world.stack_of(thread);
  std::reverse(stack.begin(), stack.end());
  if (stack.empty() || stack.front() != site) stack.insert(stack.begin(), site);
  return stack;
}

bool is_told_otherwise(const detect::RaceList& list, const detect::Race& race,
                       const std::map<std::uint64_t, Seen>& seen) {
  const auto ends = [&](const detect::Race& candidate) -> const Seen* {
    for (const detect::RacyEvent* event : {&candidate.first, &candidate.second}) {
      const Seen& side = seen.at(event->index.value());
      if (side.origin.is_life && side.origin.is_free) return &side;
    }
    return nullptr;
  };
  const Seen* const end = ends(race);
  if (end == nullptr) return false;
  const Address local = end->origin.address;
  return std::any_of(list.races.begin(), list.races.end(), [&](const detect::Race& other) {
    if (ends(other) != nullptr) return false;
    const Seen& side = seen.at(other.first.index.value());
    return side.origin.address.value() - local.value() < end->origin.size;
  });
}

namespace {

report::Stack stack_of(const Program& program, const std::vector<SiteId>& sites) {
  report::Stack stack;
  for (SiteId site : sites)
    for (const replay::Place& place : replay::places_of(program, site)) {
      report::Location location;
      location.file = place.file;
      location.line = static_cast<int>(place.line);
      location.column = static_cast<int>(place.column);
      location.function = place.function;
      stack.push_back(std::move(location));
    }
  return stack;
}

report::Access access_of(const Seen& seen, std::uint64_t index, const Program& program) {
  report::Access access;
  access.thread = seen.event.thread.value();
  const bool is_write = seen.event.kind == EventKind::kWrite;
  access.operation = seen.origin.is_free                ? report::Operation::kFree
                     : seen.event.is_atomic && is_write ? report::Operation::kAtomicWrite
                     : seen.event.is_atomic             ? report::Operation::kAtomicRead
                     : is_write                         ? report::Operation::kWrite
                                                        : report::Operation::kRead;
  access.size = seen.origin.size;
  access.stack = stack_of(program, seen.stack);
  if (!access.stack.empty()) access.location = access.stack.front();
  access.event = index;
  for (const replay::HeldLock& held : seen.locks) {
    report::Lock lock;
    lock.address = held.lock.value();
    lock.shared = held.is_shared;
    if (const auto global = replay::global_at(program, held.lock)) lock.name = global->name;
    access.locks.push_back(std::move(lock));
  }
  return access;
}

}  // namespace

report::Finding finding_of(const Seen& first, const Seen& second, const detect::Race& race,
                           const std::string& detector, const Surroundings& surroundings,
                           const Program& program) {
  report::Finding finding;
  finding.detectors = {detector};
  finding.accesses = {access_of(first, race.first.index.value(), program),
                      access_of(second, race.second.index.value(), program)};
  const Address address = second.origin.is_free ? first.origin.address : second.origin.address;
  report::Variable variable;
  variable.address = address.value();
  variable.size = second.origin.size;
  if (const auto global = replay::global_at(program, address)) {
    variable.kind = report::VariableKind::kGlobal;
    variable.name = global->name;
    variable.address = global->address.value();
    variable.size = global->size;
    variable.offset = address.value() - global->address.value();
  } else if (second.block) {
    const Block& block = surroundings.kept(*second.block);
    variable.kind = report::VariableKind::kHeap;
    variable.address = *second.block;
    variable.size = block.size;
    variable.offset = address.value() - *second.block;
    variable.allocated = stack_of(program, block.stack);
    variable.thread = block.thread.value();
  } else if (const Seen& side = second.origin.is_free  ? second
                                : first.origin.is_free ? first
                                                       : second;
             side.local) {
    const replay::LocalPlace place = replay::local_of(program, side.local->site);
    variable.kind = report::VariableKind::kStack;
    variable.name = place.name;
    variable.address = side.local->address.value();
    variable.size = side.local->size;
    variable.offset = address.value() - side.local->address.value();
    variable.declared.file = place.file;
    variable.declared.line = static_cast<int>(place.line);
    variable.thread = side.local->thread.value();
  }
  finding.variables = {std::move(variable)};
  for (const Seen* seen : {&first, &second}) {
    report::Thread thread;
    thread.id = seen->event.thread.value();
    if (const Block* creator = surroundings.creator(seen->event.thread)) {
      thread.parent = creator->thread.value();
      thread.created = stack_of(program, creator->stack);
    }
    finding.threads.push_back(std::move(thread));
  }
  for (EventIndex index : race.witness) finding.witness.push_back(index.value());
  finding.witness_prefix =
      witness_prefix(race, [](ThreadId thread) { return fmt::format("T{}", thread.value()); });
  return finding;
}

}  // namespace deadheat::cli
