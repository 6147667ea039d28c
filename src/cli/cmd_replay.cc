// deadheat replay: run a recording again, say whether every region did what it did when it was recorded, and
// look around.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recording_json.h"
#include "cli/replay_both_orders.h"
#include "cli/replay_follow.h"
#include "cli/replay_look.h"
#include "cli/reporting.h"
#include "recording/reader.h"
#include "replay/printer.h"
#include "replay/sites.h"
#include "replay/world.h"

namespace deadheat::cli {
namespace {

using recording::SequencerNumber;

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

class ReplayCommand : public Command {
 public:
  std::string name() const override { return "replay"; }
  std::string summary() const override { return "run a recording again, exactly, and verify it"; }
  std::string usage() const override { return "replay [options] RECORDING..."; }
  std::string examples() const override {
    return "  deadheat run --mode record --out run.dh -- ./bank 8   record\n"
           "  deadheat replay run.dh                                replay all threads; 0 if all is "
           "verified\n"
           "  deadheat replay --print syncs run.dh                  every lock, atomic, thread, allocation "
           "in order\n"
           "  deadheat replay --thread 2 --print accesses run.dh    what one thread read and wrote, with "
           "lines\n"
           "  deadheat replay --until 1200 --print calls run.dh     as far as synchronisation number 1200\n"
           "  deadheat replay --follow 1:12 run.dh                  what depends on the twelfth access of "
           "thread 1\n";
  }

  void add_options(CLI::App& app) override {
    app.add_option("RECORDING", folders_, "the recording's folder; several: one after the other")->required();
    app.add_option("--until", until_, "stop after the synchronisation with this number (see --print syncs)");
    app.add_option("--thread", thread_, "only this thread; 0 is the main thread");
    app.add_option("--print", printed_, "print each event: accesses, calls, syncs (several: a comma between)")
        ->delimiter(',')
        ->check(CLI::IsMember({"accesses", "calls", "syncs"}));
    app.add_flag("--observe", observe_,
                 "interleave the threads as recorded, as an analysis sees them, but print nothing");
    app.add_flag("--count", count_, "count the program's instructions (of LLVM's IR) as well");
    app.add_option(
           "--native", native_,
           "processor time that the program takes unrecorded, in seconds: say how often that was spent")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    app.add_option("--json", json_, "write what was verified as JSON to this file; - is standard output")
        ->type_name("FILE");
    app.add_option(
           "--both-orders", both_orders_,
           "THREAD:ACCESS,THREAD:ACCESS: stop both threads before these accesses (--print accesses shows "
           "their numbers), let them happen in either order, and show what becomes of the program")
        ->delimiter(',');
    app.add_option("--steps", live_.steps, "with --both-orders: how many steps each order may take");
    app.add_option("--seconds", live_.seconds, "with --both-orders: how long each order may take");
    app.add_option("--follow", follow_,
                   "THREAD:ACCESS: print what depends on what this read gave: reads, writes, branches, calls")
        ->type_name("THREAD:ACCESS");
    app.add_flag(
        "--look", look_,
        "read commands from standard input: go anywhere, forwards and back, and look (`help` lists them)");
    app.add_flag("--quiet", quiet_, "say nothing if all is verified");
  }

  int run(const std::vector<std::string>&) override {
    if (folders_.size() > 1 && !json_.empty())
      return fail(fmt::format("--json: expected one recording, found {}", folders_.size()));
    int worst = kExitClean;
    for (const std::string& folder : folders_) {
      folder_ = folder;
      worst = std::max(worst, run_on_one());
    }
    return worst;
  }

 private:
  int run_on_one() {
    std::unique_ptr<ReportFile> file;
    if (!json_.empty()) {
      auto opened = ReportFile::open(json_);
      if (!opened) return fail(opened.error().message);
      file = std::move(*opened);
    }
    Result<recording::Reader> reader = recording::Reader::open(folder_);
    if (!reader) return fail(reader.error().message);
    if (!reader->note().empty()) complain(reader->note());
    if (thread_ && !reader->has_thread(ThreadId(*thread_)))
      return fail(
          fmt::format("{}: no thread {}; it has {} threads", folder_, *thread_, reader->threads().size()));
    if (look_) return replay_look(*reader);
    if (!both_orders_.empty()) return replay_both_orders(*reader, both_orders_, live_);
    if (!follow_.empty()) return replay_follow(*reader, follow_);
    replay::RunOptions options;
    if (until_) options.until = SequencerNumber(*until_);
    if (thread_) options.thread = ThreadId(*thread_);

    const bool is_observed = observe_ || !printed_.empty();
    if (count_ && is_observed) return fail("--count: expected neither --print nor --observe beside it");
    Result<std::unique_ptr<replay::World>> world =
        replay::World::open(*reader, is_observed ? replay::Variant::kObserved
                                     : count_    ? replay::Variant::kCounted
                                                 : replay::Variant::kBare);
    if (!world) return fail(world.error().message);
    replay::Printed printed;
    for (const std::string& what : printed_) {
      printed.accesses |= what == "accesses";
      printed.calls |= what == "calls";
      printed.synchronisation |= what == "syncs";
    }
    replay::Printer printer((*world)->program(), printed, [](std::string_view line) {
      // Not fmt::print: no exception may pass through replayed frames.
      std::fwrite(line.data(), 1, line.size(), stdout);
      // A reader that has seen enough: nothing is left to do.
      if (std::fputc('\n', stdout) == EOF && errno == EPIPE) _exit(128 + SIGPIPE);
    });
    replay::Observer nobody;
    if (!printed_.empty()) (*world)->add(printer);
    if (observe_) (*world)->add(nobody);

    const auto replay_it = [&] {
      Progress progress(!quiet_ && printed_.empty());
      options.progress = [&](double fraction) { progress.show("replaying", fraction); };
      return (*world)->run(options);
    };
    Result<replay::Summary> summary = replay_it();
    if (summary.ok() && summary->needs_observing) {
      world = replay::World::open(*reader, replay::Variant::kObserved);
      if (!world) return fail(world.error().message);
      (*world)->add(nobody);
      summary = replay_it();
    }
    if (!summary) return fail(summary.error().message);
    std::string place;
    if (summary->divergence) place = place_of_divergence(*reader, **world, *summary->divergence, is_observed);
    if (file != nullptr) {
      if (Status written = file->write(json_of(*reader, *summary, place)); !written)
        return fail(written.error().message);
    }
    if (summary->divergence) return report_divergence(*summary->divergence, place);
    if (!quiet_ && json_ != "-") print_summary(*reader, *summary);
    // What could be read of a damaged recording is not all of it.
    return reader->completeness() == recording::Completeness::kDamaged ? kExitUsage : kExitClean;
  }

  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  // A bare replay does not know places: the thread is replayed once more, observed.
  static std::string place_of_divergence(const recording::Reader& reader, replay::World& world,
                                         const replay::Divergence& divergence, bool is_observed) {
    if (is_observed) return replay::place_of(world.program(), divergence.site).text();
    if (auto again = replay::World::open(reader, replay::Variant::kObserved); again) {
      replay::Observer nobody;
      (*again)->add(nobody);
      replay::RunOptions options;
      options.thread = divergence.thread;
      if (Result<replay::Summary> summary = (*again)->run(options); summary && summary->divergence)
        return replay::place_of((*again)->program(), summary->divergence->site).text();
    }
    return {};
  }

  static int report_divergence(const replay::Divergence& divergence, const std::string& place) {
    complain(fmt::format(
        "the replay diverged in thread {}, region {} (after synchronisation {}): {}; last access: {}; {}",
        divergence.thread.value(), divergence.region, divergence.last_number, divergence.what,
        place.empty() ? "none" : place, divergence.position));
    return kExitFault;
  }

  void print_summary(const recording::Reader& reader, const replay::Summary& summary) const {
    std::uint64_t regions = 0, values = 0, logged = 0, stores = 0, instructions = 0;
    std::size_t stopped = 0;
    for (const replay::ThreadSummary& thread : summary.threads) {
      regions += thread.regions;
      values += thread.values;
      logged += thread.logged_values;
      stores += thread.stores;
      instructions += thread.instructions;
      stopped += thread.outcome == replay::Outcome::kStopped;
    }
    std::string verified = regions + values == 0 ? "nothing to verify" : "100 % verified";
    if (stopped != 0)
      verified += fmt::format(" up to synchronisation {}", *until_);
    else if (reader.completeness() == recording::Completeness::kDamaged)
      verified += " up to the damage";
    fmt::print("{} thread{}, {} regions, {} values read ({} from the log), {} stores: {}\n",
               summary.threads.size(), summary.threads.size() == 1 ? "" : "s", grouped(regions),
               grouped(values), grouped(logged), grouped(stores), verified);
    if (count_)
      fmt::print("{} instructions, {:.3f} bits of log each\n", grouped(instructions),
                 8.0 * static_cast<double>(reader.log_bytes()) /
                     static_cast<double>(std::max<std::uint64_t>(instructions, 1)));
    fmt::print("replayed in {:.3f} s of processor time ({:.3f} s of it for reading), ", summary.seconds,
               summary.reading_seconds);
    fmt::print("{} functions compiled and {} taken from the cache in {:.3f} s", summary.compiled_functions,
               summary.cached_functions, summary.compile_seconds);
    // A part of the run is not compared with all of it.
    const recording::Ending* const ending = reader.ending();
    const bool is_all = stopped == 0 && !thread_ && ending != nullptr &&
                        reader.completeness() == recording::Completeness::kComplete &&
                        ending->reason == recording::StopReason::kProgramEnded;
    if (is_all && ending->cpu_seconds > 0)
      fmt::print("; the recorded run took {:.3f} s ({:.2f} times)", ending->cpu_seconds,
                 summary.seconds / ending->cpu_seconds);
    if (is_all && native_ > 0)
      fmt::print("; a native run {:.3f} s ({:.2f} times with compilation, {:.2f} without)", native_,
                 (summary.seconds + summary.compile_seconds) / native_, summary.seconds / native_);
    fmt::print("\n");
  }

  std::vector<std::string> folders_;
  std::string folder_;
  std::string json_;
  std::optional<std::uint64_t> until_;
  std::optional<std::uint32_t> thread_;
  std::vector<std::string> printed_;
  bool observe_ = false;
  bool count_ = false;
  double native_ = 0;
  bool quiet_ = false;
  bool look_ = false;
  std::vector<std::string> both_orders_;
  std::string follow_;
  replay::live::LiveOptions live_;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

}  // namespace deadheat::cli
