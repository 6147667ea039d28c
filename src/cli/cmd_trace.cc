// deadheat trace: convert, describe and check traces.
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/trace_input.h"
#include "trace/file.h"
#include "trace/stat.h"
#include "trace/trace.h"

namespace deadheat::cli {
namespace {

constexpr std::string_view kKindNames[kEventKinds] = {"read",    "write", "acquire", "release", "fork",
                                                      "join",    "begin", "end",     "branch",  "send",
                                                      "receive", "enter", "leave"};

// A thread's timeline, a column a character.
std::string bar(const std::vector<int>& levels) {
  static constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (int level : levels) text += kLevels[level];
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

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
    convert_->add_option("IN", input_, "the trace to read; - is standard input")->required();
    convert_->add_option("OUT", output_, "the trace to write; - is standard output, as text")->required();
    convert_->add_flag("--extended", write_.extended,
                       "text: also values, branches, messages and untraced calls");
    convert_->add_option("--level", write_.compression_level, "binary: compression, 1 to 19")
        ->check(CLI::Range(1, 19))
        ->capture_default_str();
    stat_ = app.add_subcommand("stat", "threads, locks, events by kind, a timeline of each thread");
    stat_->add_option("FILE", input_, "the trace; - is standard input")->required();
    check_ = app.add_subcommand("check", "whether the trace can be one: locks, threads, values");
    check_->add_option("FILE", input_, "the trace; - is standard input")->required();
  }

  int run(const std::vector<std::string>&) override {
    const std::atomic<bool> never = false;
    auto input = TraceInput::open(input_, never, TraceInput::Readings::kOne);
    if (!input) return fail(input.error().message);
    auto source = check_->parsed() ? input->read_checked() : input->read();
    if (!source) return fail(source.error().message);
    shown_ = input->shown();
    if (convert_->parsed()) return convert(**source);
    if (stat_->parsed()) return stat(**source);
    return check(**source);
  }

 private:
  static constexpr std::size_t kBatch = 4096;

  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  static void note(const TraceSource& source) {
    if (!source.note().empty()) complain("incomplete: " + source.note());
  }

  int convert(TraceSource& source) {
    const std::string temporary = OutputFile::temporary_name(output_);
    remove_file_on_signal(temporary);
    int code = write_all(source);
    forget_file(temporary);
    return code;
  }

  int write_all(TraceSource& source) {
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
    progress.clear();
    const std::string lost = left_out(**sink);
    std::error_code ignored;
    if (!lost.empty() && std::filesystem::equivalent(input_, output_, ignored)) {
      return fail(
          fmt::format("{}: expected another file to write to, or --extended, found that {} would be lost",
                      output_, lost));
    }
    if (Status status = (*sink)->close(source.names()); !status) return fail(status.error().message);
    note(source);
    if (!lost.empty()) complain(fmt::format("{} left out: plain STD cannot say them; --extended can", lost));
    return kExitClean;
  }

  // "3 events and 5 values"; empty if nothing was.
  static std::string left_out(const TraceSink& sink) {
    auto count = [](std::uint64_t number, const char* what) {
      return number == 0 ? std::string() : fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    std::string events = count(sink.left_out(), "event"), values = count(sink.values_left_out(), "value");
    return events + (events.empty() || values.empty() ? "" : " and ") + values;
  }

  int stat(TraceSource& source) {
    Progress progress(true);
    std::vector<Event> events(kBatch);
    TraceStat stat;
    while (true) {
      auto got = source.read(events);
      if (!got) return fail(got.error().message);
      if (*got == 0) break;
      stat.add(std::span(events).first(*got));
      progress.show(fmt::format("{} events", stat.events()), source.progress());
    }
    progress.clear();
    print(source.names(), stat);
    note(source);
    return kExitClean;
  }

  // The first bytes of a name, without half a character at the end.
  static std::string cut_to(std::string_view name, std::size_t bytes) {
    if (name.size() <= bytes) return std::string(name);
    while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0) == 0x80) bytes--;
    return std::string(name.substr(0, bytes));
  }

  void print(const Names& names, const TraceStat& stat) const {
    fmt::print("{}: {} event{}\n\n", shown_, stat.events(), stat.events() == 1 ? "" : "s");
    fmt::print(
        "  threads    {:>12}\n  locations  {:>12}\n  locks      {:>12}\n  messages   {:>12}\n  places     "
        "{:>12}\n\n",
        names.threads.size(), names.locations.size(), names.locks.size(), names.messages.size(),
        names.sites.size());
    for (int i = 0; i < kEventKinds; i++) {
      std::uint64_t count = stat.of_kind(static_cast<EventKind>(i));
      if (count == 0) continue;
      fmt::print("  {:<10} {:>12}  {:5.1f} %\n", kKindNames[i], count,
                 100.0 * static_cast<double>(count) / static_cast<double>(stat.events()));
    }
    if (stat.with_value() > 0) fmt::print("  {:<10} {:>12}\n", "with value", stat.with_value());
    if (stat.threads().empty()) return;
    fmt::print("\n  {:<14} {:>12} {:>12}  timeline, {} event{} a column\n", "thread", "events", "accesses",
               stat.column_width(), stat.column_width() == 1 ? "" : "s");
    for (std::size_t i = 0; i < stat.threads().size(); i++) {
      const TraceStat::Thread& thread = stat.threads()[i];
      std::string name = cut_to(names.thread(ThreadId(static_cast<std::uint32_t>(i))), 14);
      fmt::print("  {:<14} {:>12} {:>12}  {}\n", name, thread.events, thread.accesses,
                 bar(stat.levels(thread)));
    }
    if (names.threads.size() > TraceStat::kMaxThreads)
      fmt::print("  and {} more\n", names.threads.size() - TraceStat::kMaxThreads);
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
    fmt::print("{}: {} event{}, nothing wrong\n", shown_, count, count == 1 ? "" : "s");
    return kExitClean;
  }

  CLI::App* convert_ = nullptr;
  CLI::App* stat_ = nullptr;
  CLI::App* check_ = nullptr;
  std::string input_, output_, shown_;
  WriteOptions write_;
};

}  // namespace

std::unique_ptr<Command> make_trace_command() { return std::make_unique<TraceCommand>(); }

}  // namespace deadheat::cli
