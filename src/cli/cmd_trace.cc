// deadheat trace: convert, describe and check traces.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "trace/checker.h"
#include "trace/trace.h"

namespace deadheat::cli {
namespace {

constexpr std::string_view kKindNames[kEventKinds] = {"read",    "write", "acquire", "release", "fork",
                                                      "join",    "begin", "end",     "branch",  "send",
                                                      "receive", "enter", "leave"};

// How busy something was over the length of a trace whose length is not known in advance: a fixed number of
// buckets whose width doubles whenever the trace outgrows them.
class Timeline {
 public:
  static constexpr std::size_t kBuckets = 64;

  void add(std::uint64_t index, std::uint64_t width) {
    widen(width);
    counts_[std::min<std::size_t>(index / width, kBuckets - 1)]++;
  }

  std::string text(std::uint64_t events, std::uint64_t width) {
    widen(width);
    static constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string bar;
    std::size_t used = std::min<std::size_t>(kBuckets, (events + width - 1) / width);
    for (std::size_t i = 0; i < used; i++) {
      std::uint64_t in_bucket = std::min(width, events - i * width);
      std::size_t level =
          counts_[i] == 0
              ? 0
              : 1 + static_cast<std::size_t>(counts_[i] * 7 / std::max<std::uint64_t>(1, in_bucket));
      bar += kLevels[std::min<std::size_t>(level, 8)];
    }
    return bar;
  }

 private:
  void widen(std::uint64_t width) {
    for (; width_ < width; width_ *= 2) {
      for (std::size_t i = 0; i < kBuckets / 2; i++) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
      std::fill(counts_.begin() + kBuckets / 2, counts_.end(), 0);
    }
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t width_ = 1;
};

struct ThreadStat {
  std::uint64_t events = 0, accesses = 0, first = 0, last = 0;
  Timeline timeline;
};

class TraceCommand : public Command {
 public:
  std::string name() const override { return "trace"; }
  std::string summary() const override { return "convert, describe or check a trace"; }
  std::string usage() const override { return "trace convert IN OUT | stat FILE | check FILE"; }
  std::string examples() const override {
    return "  deadheat trace convert run.std run.dht              to the compact binary format\n"
           "  deadheat trace convert --extended run.dht run.std   back to text, with values and branches\n"
           "  deadheat trace stat run.dht                         threads, locks, events by kind, timeline\n"
           "  deadheat trace check run.std                        exit code 2 and the line if it cannot be "
           "right\n";
  }

  void add_options(CLI::App& app) override {
    app.require_subcommand(1);
    convert_ = app.add_subcommand("convert", "between formats, by suffix: .std is text, .dht is binary");
    convert_->add_option("IN", input_, "the trace to read")->required();
    convert_->add_option("OUT", output_, "the trace to write")->required();
    convert_->add_flag("--extended", write_.extended,
                       "text: also values, branches, messages and untraced calls");
    convert_->add_option("--level", write_.compression_level, "binary: compression, 1 to 19")
        ->check(CLI::Range(1, 19))
        ->capture_default_str();
    stat_ = app.add_subcommand("stat", "threads, locks, events by kind, a timeline of each thread");
    stat_->add_option("FILE", input_, "the trace")->required();
    check_ = app.add_subcommand("check", "whether the trace can be one: locks, threads, values");
    check_->add_option("FILE", input_, "the trace")->required();
  }

  int run(const std::vector<std::string>&) override {
    auto source = check_->parsed() ? open_checked_trace(input_) : open_trace(input_);
    if (!source) return fail(source.error().message);
    if (convert_->parsed()) return convert(**source);
    if (stat_->parsed()) return stat(**source);
    return check(**source);
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  static constexpr std::size_t kThreadsShown = 64;

  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  static void note(const TraceSource& source) {
    if (!source.note().empty()) complain("incomplete: " + source.note());
  }

  int convert(TraceSource& source) {
    auto sink = create_trace(output_, write_);
    if (!sink) return fail(sink.error().message);
    Progress progress(true);
    std::vector<Event> events(kBatch);
    std::uint64_t count = 0;
    while (true) {
      auto got = source.read(events);
      if (!got) return fail(got.error().message);
      if (*got == 0) break;
      if (Status status = (*sink)->write(source.names(), std::span(events).first(*got)); !status) {
        return fail(status.error().message);
      }
      count += *got;
      progress.show(fmt::format("{} events", count), source.progress());
    }
    if (Status status = (*sink)->close(source.names()); !status) return fail(status.error().message);
    progress.clear();
    note(source);
    if ((*sink)->left_out() > 0) {
      complain(
          fmt::format("{} events left out: plain STD cannot say them; --extended can", (*sink)->left_out()));
    }
    return kExitClean;
  }

  int stat(TraceSource& source) {
    Progress progress(true);
    std::vector<Event> events(kBatch);
    std::array<std::uint64_t, kEventKinds> kinds{};
    std::vector<ThreadStat> threads;
    std::uint64_t count = 0, width = 1, with_values = 0;
    while (true) {
      auto got = source.read(events);
      if (!got) return fail(got.error().message);
      if (*got == 0) break;
      for (const Event& event : std::span(events).first(*got)) {
        while (count >= width * Timeline::kBuckets) width *= 2;
        kinds[static_cast<std::size_t>(event.kind)]++;
        with_values += event.has_value;
        // A trace may name more threads than anybody wants to see, or memory can hold.
        if (event.thread.index() < kThreadsShown) {
          if (threads.size() <= event.thread.index()) threads.resize(event.thread.index() + 1);
          ThreadStat& thread = threads[event.thread.index()];
          if (thread.events++ == 0) thread.first = count;
          thread.last = count;
          thread.accesses += is_access(event.kind);
          thread.timeline.add(count, width);
        }
        count++;
      }
      progress.show(fmt::format("{} events", count), source.progress());
    }
    progress.clear();
    print(source.names(), count, kinds, with_values, threads, width);
    note(source);
    return kExitClean;
  }

  void print(const Names& names, std::uint64_t count, const std::array<std::uint64_t, kEventKinds>& kinds,
             std::uint64_t with_values, std::vector<ThreadStat>& threads, std::uint64_t width) const {
    fmt::print("{}: {} events\n\n", input_, count);
    fmt::print(
        "  threads    {:>12}\n  locations  {:>12}\n  locks      {:>12}\n  messages   {:>12}\n  places     "
        "{:>12}\n\n",
        names.threads.size(), names.locations.size(), names.locks.size(), names.messages.size(),
        names.sites.size());
    for (int kind = 0; kind < kEventKinds; kind++) {
      if (kinds[kind] == 0) continue;
      fmt::print("  {:<10} {:>12}  {:5.1f} %\n", kKindNames[kind], kinds[kind], 100.0 * kinds[kind] / count);
    }
    if (with_values > 0) fmt::print("  {:<10} {:>12}\n", "with value", with_values);
    if (threads.empty()) return;
    fmt::print("\n  {:<14} {:>12} {:>12}  timeline, {} event{} a column\n", "thread", "events", "accesses",
               width, width == 1 ? "" : "s");
    for (std::size_t i = 0; i < threads.size(); i++) {
      std::string name(names.thread(ThreadId(static_cast<std::uint32_t>(i))).substr(0, 14));
      fmt::print("  {:<14} {:>12} {:>12}  {}\n", name, threads[i].events, threads[i].accesses,
                 threads[i].timeline.text(count, width));
    }
    if (names.threads.size() > kThreadsShown)
      fmt::print("  and {} more\n", names.threads.size() - kThreadsShown);
  }

  int check(TraceSource& source) {
    Progress progress(true);
    std::vector<Event> events(kBatch);
    std::uint64_t count = 0;
    while (true) {
      auto got = source.read(events);
      if (!got) return fail(got.error().message);
      if (*got == 0) break;
      count += *got;
      progress.show(fmt::format("{} events", count), source.progress());
    }
    progress.clear();
    if (!source.note().empty()) return fail("incomplete: " + source.note());
    fmt::print("{}: {} events, nothing wrong\n", input_, count);
    return kExitClean;
  }

  CLI::App* convert_ = nullptr;
  CLI::App* stat_ = nullptr;
  CLI::App* check_ = nullptr;
  std::string input_, output_;
  WriteOptions write_;
};

}  // namespace

std::unique_ptr<Command> make_trace_command() { return std::make_unique<TraceCommand>(); }

}  // namespace deadheat::cli
