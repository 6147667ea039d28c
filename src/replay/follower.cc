#include "replay/follower.h"

#include <fmt/format.h>

#include "replay/sites.h"
#include "replay/world.h"

namespace deadheat::replay {

bool Follower::depends(Label label) const { return source_ && world_.labels().contains(label, *source_); }

std::string Follower::at(SiteId site) const { return "  " + place_of(world_.program(), site).text(); }

Label Follower::source_of(const Access& access) {
  if (access.thread != read_.thread || accesses_[access.thread] + 1 != read_.access) return {};
  source_ = world_.labels().add_source();
  return world_.labels().label_of(*source_);
}

void Follower::on_access(const Access& access) {
  const std::uint64_t number = ++accesses_[access.thread];
  const bool is_it = access.thread == read_.thread && number == read_.access;
  is_write_ |= is_it && access.is_write;
  const bool is_value = depends(access.label);
  if (!is_value && !depends(access.address_label)) return;
  ++(access.is_write ? counts_.writes : counts_.reads);
  write_(fmt::format("thread {} {}{} {} byte{} at {:#x} {} {:#x}{} (access {}){}", access.thread.value(),
                     access.is_atomic ? "atomically " : "", access.is_write ? "writes" : "reads", access.size,
                     access.size == 1 ? "" : "s", access.address.value(), access.is_write ? "<-" : "->",
                     access.value,
                     is_it                            ? ", which is followed"
                     : !depends(access.address_label) ? ""
                     : is_value && access.is_write    ? ", value and address"
                                                      : ", by its address",
                     number, at(access.site)));
}

void Follower::on_branch(ThreadId thread, SiteId site, Label label) {
  if (!depends(label)) return;
  ++counts_.branches;
  write_(fmt::format("thread {} goes on by it{}", thread.value(), at(site)));
}

void Follower::on_labelled_call(ThreadId thread, SiteId site, Address target, std::span<const Label> labels) {
  std::string arguments;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (depends(labels[i])) arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", i + 1);
  if (arguments.empty()) return;
  ++counts_.calls;
  const std::string callee = callee_of(world_.program(), site);
  write_(fmt::format("thread {} gives it to {} (argument {}){}", thread.value(),
                     callee.empty() ? fmt::format("{:#x}", target.value()) : callee, arguments, at(site)));
}

std::string Follower::problem() const {
  if (source_) return {};
  if (is_write_)
    return fmt::format("access {} of thread {} is a write; a read can be followed", read_.access,
                       read_.thread.value());
  const auto found = accesses_.find(read_.thread);
  return fmt::format("thread {} has no access {}; it made {}", read_.thread.value(), read_.access,
                     found == accesses_.end() ? 0 : found->second);
}

}  // namespace deadheat::replay
