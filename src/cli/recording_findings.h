// What a report says of races found in a recording: the accesses as a further replay saw them, with their
// stacks, locks, blocks and locals.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "detect/pipeline.h"
#include "replay/race_events.h"
#include "replay/world.h"
#include "report/finding.h"

namespace deadheat::cli {

using replay::Address;

struct Local {
  Address address;
  std::uint64_t size = 0;
  ThreadId thread;
  SiteId site;
};

// Everything a report says of one racing access, by sites: names come when the replay is over.
struct Seen {
  Event event;
  replay::AccessOrigin origin;
  std::vector<SiteId> stack;  // innermost first
  std::vector<replay::HeldLock> locks;
  std::optional<std::uint64_t> block;  // the heap block it is in
  std::optional<Local> local;          // or the local
};

struct Block {
  std::uint64_t size = 0;
  ThreadId thread;
  std::vector<SiteId> stack;
};

// The call sites of a thread that runs, innermost first, `site` among them.
std::vector<SiteId> stack_at(const replay::World& world, ThreadId thread, SiteId site);

// Beside RaceEvents: allocations and creations of threads with their stacks.
class Surroundings final : public replay::Observer {
 public:
  explicit Surroundings(const replay::World& world) : world_(world) {}

  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override {
    switch (sequencer.kind) {
      case recording::SequencerKind::kAllocated:
        blocks_[sequencer.object.value()] = {sequencer.extra, thread, stack_at(world_, thread, site)};
        return;
      case recording::SequencerKind::kUsable:
        if (const auto block = blocks_.find(sequencer.object.value()); block != blocks_.end())
          block->second.size = std::max(block->second.size, sequencer.extra);
        return;
      case recording::SequencerKind::kFreeing:
        // It is looked up while it is freed; the next allocation there replaces it.
        return;
      case recording::SequencerKind::kThreadCreated:
        creators_[sequencer.other_thread()] = {0, thread, stack_at(world_, thread, site)};
        return;
      default:
        return;
    }
  }

  void on_local(ThreadId thread, SiteId site, Address address, std::uint64_t size) override {
    locals_[address.value()] = {address, size, thread, site};
  }

  // The local that is there, or was there last.
  std::optional<Local> local_of(Address address) const {
    auto found = locals_.upper_bound(address.value());
    if (found == locals_.begin()) return std::nullopt;
    --found;
    if (address.value() - found->first >= found->second.size) return std::nullopt;
    return found->second;
  }
  std::optional<std::uint64_t> block_of(Address address) const {
    auto found = blocks_.upper_bound(address.value());
    if (found == blocks_.begin()) return std::nullopt;
    --found;
    if (address.value() - found->first >= found->second.size) return std::nullopt;
    return found->first;
  }
  void keep(std::uint64_t block) { kept_.try_emplace(block, blocks_.at(block)); }
  const Block& kept(std::uint64_t block) const { return kept_.at(block); }
  const Block* creator(ThreadId thread) const {
    const auto found = creators_.find(thread);
    return found == creators_.end() ? nullptr : &found->second;
  }

 private:
  const replay::World& world_;
  std::map<std::uint64_t, Local> locals_;
  std::map<std::uint64_t, Block> blocks_;
  std::map<std::uint64_t, Block> kept_;
  std::map<ThreadId, Block> creators_;
};

// A race with the end of a local's life is worth telling where nothing else races there.
bool is_told_otherwise(const detect::RaceList& list, const detect::Race& race,
                       const std::map<std::uint64_t, Seen>& seen);

report::Finding finding_of(const Seen& first, const Seen& second, const detect::Race& race,
                           const std::string& detector, const Surroundings& surroundings,
                           const replay::Program& program);

}  // namespace deadheat::cli
