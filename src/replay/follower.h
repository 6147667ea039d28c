// An observer that follows what one read gave through the rest of a labelled replay: deadheat replay
// --follow.
//
// Tells every read, write, branch and call into invisible code that depends on it (flow.h), a line each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/observer.h"
#include "replay/stops.h"

namespace deadheat::replay {

class World;

class Follower : public Observer {
 public:
  using Write = std::function<void(std::string_view line)>;  // without the end of line
  // REQUIRES: a labelled world. `read`: as accesses are counted for stops.
  Follower(World& world, Stop read, Write write) : world_(world), read_(read), write_(std::move(write)) {}

  Label source_of(const Access& access) override;
  void on_access(const Access& access) override;
  void on_branch(ThreadId thread, SiteId site, Label label) override;
  void on_labelled_call(ThreadId thread, SiteId site, Address target, std::span<const Label> labels) override;

  struct Counts {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t branches = 0;
    std::uint64_t calls = 0;
  };
  const Counts& counts() const { return counts_; }
  // Why there was nothing to follow; empty if there was.
  std::string problem() const;

 private:
  bool depends(Label label) const;
  std::string at(SiteId site) const;

  World& world_;
  const Stop read_;
  const Write write_;
  std::optional<Source> source_;
  bool is_write_ = false;  // the access is one
  std::unordered_map<ThreadId, std::uint64_t> accesses_;
  Counts counts_;
};

}  // namespace deadheat::replay
