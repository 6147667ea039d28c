#include "replay/live/both_orders.h"

#include <fmt/format.h>

#include "replay/live/child.h"
#include "replay/live/foresight.h"
#include "replay/program.h"
#include "replay/sites.h"

namespace deadheat::replay::live {

bool Orders::have_same_outcome() const {
  return first_second.kind == second_first.kind && first_second.code == second_first.code &&
         first_second.what == second_first.what && first_second.output == second_first.output &&
         first_second.output_bytes == second_first.output_bytes;
}

bool Orders::have_same_regions() const {
  return first_second.regions_ended == second_first.regions_ended &&
         first_second.after_regions.digest == second_first.after_regions.digest;
}

bool Orders::do_converge() const {
  return have_same_outcome() && first_second.at_end.digest == second_first.at_end.digest;
}

namespace {

Result<LiveResult> run_order(World& world, History& history, ThreadId first, ThreadId second,
                             const LiveOptions& options) {
  const Result<ChildAnswer> answer =
      run_child({options.seconds}, [&](const std::function<void(const std::string&)>& tell) {
        world.program().make_cache_read_only();
        LiveWorld live(world, history, options, [&](const LiveResult& result) { tell(encode(result)); });
        live.run(first, second);
      });
  if (!answer) return answer.error();
  switch (answer.value().end) {
    case ChildEnd::kAnswered:
      return decode(answer.value().bytes);
    case ChildEnd::kTimedOut: {
      LiveResult result;
      result.kind = OutcomeKind::kTime;
      result.what = fmt::format("still running after {} s", options.seconds);
      return result;
    }
    case ChildEnd::kDied:
      break;
  }
  LiveResult result;
  result.kind = answer.value().signal == 24 ? OutcomeKind::kTime : OutcomeKind::kFailed;
  result.what = fmt::format("the live world's process died of signal {}", answer.value().signal);
  return result;
}

// Goes on with the replay, in a process of its own, and comes back with what it saw of memory. Nothing if it
// takes too long or fails: then the live worlds know as much as they did.
std::uint64_t foresee(World& world, History& history, const LiveOptions& options) {
  const Result<ChildAnswer> answer =
      run_child({options.seconds, true}, [&](const std::function<void(const std::string&)>& tell) {
        world.program().make_cache_read_only();
        Foresight foresight(history.memory.image());
        history.input_recorder = &foresight.input();
        history.on_unseen_write = [&](Address at, std::uint64_t size) { foresight.settle(at, size); };
        world.go_on_from_stops(foresight);
        tell(foresight.encode());
      });
  if (!answer || answer.value().end != ChildEnd::kAnswered) return 0;
  return Foresight::apply(answer.value().bytes, history.memory.image(), history.input);
}

// The rest of the recording may know what this world did not.
bool can_be_helped(const LiveResult& result) {
  return result.kind == OutcomeKind::kUnknownMemory ||
         (result.kind == OutcomeKind::kLeft && result.what.starts_with(kInputIsUnknown));
}

}  // namespace

Result<Orders> run_both_orders(const recording::Reader& recording, Stop first, Stop second,
                               const LiveOptions& options) {
  if (first.thread == second.thread)
    return Error{fmt::format("both orders: expected accesses of two threads, found two of thread {}",
                             first.thread.value())};
  for (const Stop& stop : {first, second}) {
    if (!recording.has_thread(stop.thread))
      return Error{fmt::format("{}: no thread {}; it has {} threads", recording.folder(), stop.thread.value(),
                               recording.threads().size())};
    if (stop.access == 0) return Error{"both orders: accesses are counted from 1"};
  }
  Result<std::unique_ptr<World>> world = World::open(recording, Variant::kLive);
  if (!world) return world.error();
  if (Status status = (*world)->program().prepare_all(); !status) return status.error();
  History history(**world);
  Orders orders;
  std::optional<Error> problem;
  RunOptions run;
  run.stops = {first, second};
  run.on_stop = [&] { history.on_kept(); };
  run.at_stops = [&] {
    orders.strange_reads = history.strange_reads;
    const auto place = [&](ThreadId id) {
      return place_of((*world)->program(), SiteId((*world)->threads().at(id)->hot()->site)).text();
    };
    orders.replay_seconds = processor_seconds();
    orders.first_place = place(first.thread);
    orders.second_place = place(second.thread);
    const auto run_orders = [&] {
      for (const bool is_first : {true, false}) {
        Result<LiveResult> result = run_order(**world, history, is_first ? first.thread : second.thread,
                                              is_first ? second.thread : first.thread, options);
        if (!result)
          problem = result.error();
        else
          (is_first ? orders.first_second : orders.second_first) = std::move(*result);
      }
    };
    run_orders();
    if (problem || !(can_be_helped(orders.first_second) || can_be_helped(orders.second_first))) return;
    orders.foreseen_bytes = foresee(**world, history, options);
    if (orders.foreseen_bytes != 0 || !history.input.empty()) run_orders();
  };
  const double start = processor_seconds();
  Result<Summary> summary = (*world)->run(run);
  orders.replay_seconds -= start;
  if (!summary) return summary.error();
  if (summary->divergence)
    return Error{fmt::format("the replay diverged in thread {} before both accesses: {}",
                             summary->divergence->thread.value(), summary->divergence->what)};
  if (problem) return *problem;
  return orders;
}

}  // namespace deadheat::replay::live
