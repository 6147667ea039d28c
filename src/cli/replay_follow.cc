#include "cli/replay_follow.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/replay_both_orders.h"
#include "replay/follower.h"
#include "replay/world.h"

namespace deadheat::cli {

int replay_follow(const recording::Reader& recording, const std::string& read) {
  const auto fail = [](const std::string& what, int code) {
    complain(what);
    return code;
  };
  const std::optional<replay::Stop> stop = parse_stop(read);
  if (!stop || stop->access == 0)
    return fail(fmt::format("--follow: expected THREAD:ACCESS, such as 1:12, found {}", read), kExitUsage);
  if (!recording.has_thread(stop->thread))
    return fail(fmt::format("--follow: {} has no thread {}", recording.folder(), stop->thread.value()),
                kExitUsage);
  Result<std::unique_ptr<replay::World>> world = replay::World::open(recording, replay::Variant::kLabelled);
  if (!world) return fail(world.error().message, kExitUsage);
  replay::Follower follower(**world, *stop, [](std::string_view line) {
    // Not fmt::print: no exception may pass through replayed frames.
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
  });
  (*world)->add(follower);
  Result<replay::Summary> summary = (*world)->run({});
  if (!summary) return fail(summary.error().message, kExitUsage);
  if (summary->divergence)
    return fail(fmt::format("the replay diverged in thread {}: {}", summary->divergence->thread.value(),
                            summary->divergence->what),
                kExitFault);
  if (const std::string problem = follower.problem(); !problem.empty())
    return fail("--follow: " + problem, kExitUsage);
  const replay::Follower::Counts& counts = follower.counts();
  fmt::print("followed: {} reads, {} writes, {} branches and {} calls of other code depend on it\n",
             counts.reads, counts.writes, counts.branches, counts.calls);
  return kExitClean;
}

}  // namespace deadheat::cli
