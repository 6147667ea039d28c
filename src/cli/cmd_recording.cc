// deadheat recording: describe, check or print a recording.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/recording_json.h"
#include "cli/recording_run.h"
#include "cli/reporting.h"
#include "recording/checker.h"
#include "recording/description.h"
#include "recording/names.h"
#include "recording/reader.h"
#include "report/prose.h"

namespace deadheat::cli {
namespace {

using namespace recording;

// A writer that is about to end gets the time to.
constexpr unsigned kWriterMilliseconds = 2000;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class RecordingCommand : public Command {
 public:
  std::string name() const override { return "recording"; }
  std::string summary() const override { return "describe, check or print a recording"; }
  std::string usage() const override {
    return "recording stat [options] DIR | check DIR... | dump [options] DIR";
  }
  std::string examples() const override {
    return "  deadheat recording stat bank.dh                threads, sequencers by kind, bytes, how it "
           "ended\n"
           "  deadheat recording check bank.dh               exit code 2 and the position if anything is "
           "damaged\n"
           "  deadheat recording dump bank.dh | less         all threads, in the order of their sequencers\n"
           "  deadheat recording dump --thread 2 --limit 100 bank.dh\n";
  }

  void add_options(CLI::App& app) override {
    app.require_subcommand(1);
    stat_ = app.add_subcommand(
        "stat", "threads, sequencers by kind, values logged and predicted, bytes, how it ended");
    stat_->add_option("DIR", folder_, "the recording")->required();
    stat_->add_option("--json", json_, "write it as JSON to this file instead; - is standard output")
        ->type_name("FILE");
    check_ =
        app.add_subcommand("check", "read every chunk and every item; a recording cut short is no damage");
    check_->add_option("DIR", folders_, "the recordings")->required();
    dump_ = app.add_subcommand("dump", "one item a line: thread, values predicted before it, the item");
    dump_->add_option("--thread", thread_, "this thread only")->type_name("N");
    dump_->add_option("--limit", limit_, "no more than N items")->type_name("N");
    dump_->add_option("DIR", folder_, "the recording")->required();
  }

  int run(const std::vector<std::string>&) override {
    if (!check_->parsed()) return run_on_one();
    int worst = kExitClean;
    for (const std::string& folder : folders_) {
      folder_ = folder;
      worst = std::max(worst, run_on_one());
    }
    return worst;
  }

 private:
  int run_on_one() {
    wait_for_writer(folder_, kWriterMilliseconds);
    auto reader = Reader::open(folder_);
    if (!reader) return fail(reader.error().message);
    if (stat_->parsed()) return stat(*reader);
    if (check_->parsed()) return check(*reader);
    return dump(*reader);
  }

  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  static Result<Summary> summarise(const Reader& reader) {
    Progress progress(true);
    std::uint64_t total = 0;
    for (ThreadId thread : reader.threads()) total += reader.stream(thread).raw_bytes();
    return recording::check(reader, [&](std::uint64_t bytes) {
      progress.show("reading",
                    static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, total)));
    });
  }

  static std::string how_it_ended(const Reader& reader) {
    const Ending* ending = reader.ending();
    if (ending == nullptr)
      return reader.is_being_written() ? "still being recorded" : "cut short: the writer was ended";
    std::string program = !ending->program_ended ? "the program went on"
                          : ending->signal != 0  ? fmt::format("ended by signal {}", ending->signal)
                                                 : fmt::format("exit code {}", ending->exit_code);
    switch (ending->reason) {
      case StopReason::kProgramEnded:
        return program;
      case StopReason::kLimit:
        return "stopped at its limit; " + program;
      case StopReason::kDiskFull:
        return "stopped: the disk was full; " + program;
      case StopReason::kWriterGone:
        return "stopped: the tool ended first; " + program;
    }
    return program;
  }

  int stat(const Reader& reader) {
    std::unique_ptr<ReportFile> file;
    if (!json_.empty()) {
      auto opened = ReportFile::open(json_);
      if (!opened) return fail(opened.error().message);
      file = std::move(*opened);
    }
    auto summary = summarise(reader);
    if (!summary) return fail(summary.error().message);
    if (file != nullptr) {
      if (Status written = file->write(json_of(reader, *summary)); !written)
        return fail(written.error().message);
      return kExitClean;
    }
    const Description& description = reader.description();
    std::string command;
    for (const std::string& word : description.command) {
      command += (command.empty() ? "" : " ") + report::shell_quoted(word);
    }
    fmt::print("{}: recorded by deadheat {} on {}\n\n", folder_, description.deadheat,
               description.start_time);
    fmt::print("  command     {}\n  in          {}\n  ended       {}\n", command, description.folder,
               how_it_ended(reader));
    if (const Ending* ending = reader.ending()) {
      fmt::print("  time        {:.3f} s, {:.3f} s of CPU\n", ending->wall_seconds, ending->cpu_seconds);
    }
    print_amounts(reader, *summary);
    print_kinds(*summary);
    print_threads(*summary);
    if (!reader.note().empty()) complain("incomplete: " + reader.note());
    return kExitClean;
  }

  static void print_amounts(const Reader& reader, const Summary& summary) {
    std::uint64_t functions = 0, globals = 0;
    for (const ModuleLoading& loading : reader.modules()) functions += loading.functions.size();
    const auto modules = reader.distinct_modules();
    for (const Module* module : modules) globals += module->globals.size();
    const std::uint64_t values = summary.values + summary.predicted;
    fmt::print("\n  threads     {:>14}{}\n", summary.threads.size(),
               reader.ending() != nullptr && reader.ending()->unrecorded_threads > 0
                   ? fmt::format("  and {} that could not be recorded", reader.ending()->unrecorded_threads)
                   : "");
    fmt::print("  modules     {:>14}  {} loadings, {} functions, {} globals\n", modules.size(),
               reader.modules().size(), functions, globals);
    fmt::print("  sequencers  {:>14}{}\n", summary.sequencers,
               summary.missing > 0 ? fmt::format("  {} numbers are missing, the first is {}", summary.missing,
                                                 summary.first_missing.value())
                                   : "");
    fmt::print("  values      {:>14}  {:.2f} % predicted, {} logged\n", values,
               share(summary.predicted, values), summary.values);
    fmt::print("  raw bytes   {:>14}\n", summary.raw_bytes);
    fmt::print("  log bytes   {:>14}  {:.2f} bits a value, {} chunks\n", reader.log_bytes(),
               values == 0 ? 0 : 8.0 * static_cast<double>(reader.log_bytes()) / static_cast<double>(values),
               reader.chunk_count());
  }

  static void print_kinds(const Summary& summary) {
    std::vector<std::pair<std::uint64_t, std::string>> rows;
    for (std::size_t kind = 0; kind < summary.kinds.size(); ++kind) {
      if (summary.kinds[kind] > 0) {
        rows.emplace_back(summary.kinds[kind], to_string(static_cast<SequencerKind>(kind)));
      }
    }
    const std::pair<Tag, const char*> kOthers[] = {{Tag::kCallback, "call-back"},
                                                   {Tag::kUnwound, "call-back left by unwinding"},
                                                   {Tag::kLanded, "exception landed"},
                                                   {Tag::kJumped, "longjmp"},
                                                   {Tag::kAccess, "access by a library call"},
                                                   {Tag::kNote, "note"}};
    std::sort(rows.rbegin(), rows.rend());
    if (!rows.empty()) fmt::print("\n");
    for (const auto& [count, name] : rows) fmt::print("  {:<28} {:>12}\n", name, count);
    bool any = false;
    for (const auto& [tag, name] : kOthers) {
      const std::uint64_t count = summary.tags[static_cast<unsigned>(tag)];
      if (count == 0) continue;
      if (!any) fmt::print("\n");
      any = true;
      fmt::print("  {:<28} {:>12}\n", name, count);
    }
  }

  static void print_threads(const Summary& summary) {
    constexpr std::size_t kShown = 64;
    if (summary.threads.empty()) return;
    fmt::print("\n  {:>6} {:>14} {:>9} {:>12} {:>12} {:>12}  end\n", "thread", "values", "predicted",
               "sequencers", "raw bytes", "stored");
    for (std::size_t i = 0; i < std::min(summary.threads.size(), kShown); ++i) {
      const ThreadSummary& thread = summary.threads[i];
      const std::uint64_t values = thread.values + thread.predicted;
      fmt::print("  {:>6} {:>14} {:>7.2f} % {:>12} {:>12} {:>12}  {}\n", thread.thread.value(), values,
                 share(thread.predicted, values), thread.sequencers, thread.raw_bytes, thread.stored_bytes,
                 to_string(thread.end.kind));
    }
    if (summary.threads.size() > kShown) fmt::print("  and {} more\n", summary.threads.size() - kShown);
  }

  int check(const Reader& reader) {
    auto summary = summarise(reader);
    if (!summary) return fail(summary.error().message);
    std::uint64_t items = 0;
    for (const ThreadSummary& thread : summary->threads) items += thread.items;
    fmt::print("{}: {} threads, {} items in {} chunks, nothing wrong; {}\n", folder_, summary->threads.size(),
               items, reader.chunk_count(), how_it_ended(reader));
    if (!reader.note().empty()) complain("incomplete: " + reader.note());
    return kExitClean;
  }

  // Threads take turns at their sequencers, as a replay does; what a thread did before its first one comes
  // with it.
  int dump(const Reader& reader) {
    std::vector<ThreadId> threads = reader.threads();
    if (thread_) {
      const ThreadId wanted(*thread_);
      if (!reader.has_thread(wanted)) return fail(fmt::format("{}: it has no thread {}", folder_, *thread_));
      threads = {wanted};
    }
    // A thread and its next sequencer, which is not yet printed.
    struct Turn {
      std::uint64_t number;
      std::size_t thread;
      bool operator>(const Turn& other) const {
        return std::pair(number, thread) > std::pair(other.number, other.thread);
      }
    };
    std::vector<ThreadStream> streams;
    std::vector<Item> waiting(threads.size());
    for (ThreadId thread : threads) streams.push_back(reader.stream(thread));
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    std::uint64_t printed = 0;
    // Prints a thread's items up to its next sequencer.
    auto advance = [&](std::size_t i) -> Status {
      Item& item = waiting[i];
      while (streams[i].next(item)) {
        if (item.tag == Tag::kSequencer) {
          turns.push({item.sequencer.number.value(), i});
          return Nothing{};
        }
        if (printed++ >= limit_) return Nothing{};
        print_item(threads[i], item);
      }
      return streams[i].status();
    };
    for (std::size_t i = 0; i < threads.size() && printed < limit_; ++i) {
      if (Status status = advance(i); !status) return fail(status.error().message);
    }
    while (!turns.empty() && printed++ < limit_) {
      const std::size_t i = turns.top().thread;
      turns.pop();
      print_item(threads[i], waiting[i]);
      if (Status status = advance(i); !status) return fail(status.error().message);
    }
    if (!reader.note().empty()) complain("incomplete: " + reader.note());
    return reader.completeness() == Completeness::kDamaged ? kExitUsage : kExitClean;
  }

  static void print_item(ThreadId thread, const Item& item) {
    fmt::print("{:>4} {:>8} {}\n", thread.value(),
               item.predicted == 0 ? "" : fmt::format("+{}", item.predicted), to_text(item));
  }

  CLI::App* stat_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* dump_ = nullptr;
  std::string folder_;
  std::vector<std::string> folders_;
  std::string json_;
  std::optional<std::uint32_t> thread_;
  std::uint64_t limit_ = ~std::uint64_t{0};
};

}  // namespace

std::unique_ptr<Command> make_recording_command() { return std::make_unique<RecordingCommand>(); }

}  // namespace deadheat::cli
