// make bench-trace: generates traces and measures every detector on them, each in a process of its own.
//
//   bench_trace generate FILE [key=value...]     a trace, .dht or .std; keys are the members of Shape, and
//   level (zstd) bench_trace run FILE SPEC...                 events a second and peak memory of each
//   pipeline bench_trace clocks FILE                      vector clocks, shared copies and tree clocks on its
//   synchronisation alone bench_trace table [events=N]                 the tables of
//   docs/performance-traces.md
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clock_bench.h"
#include "detect/pipeline.h"
#include "generator.h"
#include "trace/file.h"
#include "trace/trace.h"

namespace deadheat::bench {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "bench_trace: %s\n", message.c_str());
  std::exit(2);
}

std::uint64_t number(std::string_view key, std::string_view text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    give_up(std::string(key) + ": expected a number from " + std::to_string(least) + " to " +
            std::to_string(most) + ", found '" + std::string(text) + "'");
  }
  return value;
}

void set(Shape& shape, std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos) give_up("expected key=value, found '" + std::string(argument) + "'");
  const std::string_view key = argument.substr(0, equals);
  const std::string_view text = argument.substr(equals + 1);
  struct Number {
    int* number;
    int least, most;
  };
  constexpr int kMany = 100'000'000;
  const std::map<std::string_view, Number> numbers = {
      {"threads", {&shape.threads, 2, 1'000'000}},  {"locks", {&shape.locks, 1, kMany}},
      {"nesting", {&shape.nesting, 1, 1000}},       {"hot", {&shape.hot_per_lock, 1, kMany}},
      {"cold", {&shape.cold_per_thread, 1, kMany}}, {"read_only", {&shape.read_only, 1, kMany}},
      {"sites", {&shape.sites, 1, kMany}},          {"sync", {&shape.sync_percent, 0, 100}},
      {"races", {&shape.races, 0, kMany}},          {"chaos", {&shape.chaos, 0, kMany}}};
  if (key == "events") {
    shape.events = number(key, text, 1, 100'000'000'000);
  } else if (key == "distance") {
    shape.race_distance = number(key, text, 0, 100'000'000'000);
  } else if (key == "seed") {
    shape.seed = number(key, text, 0, UINT64_MAX);
  } else if (const auto found = numbers.find(key); found != numbers.end()) {
    const Number& wanted = found->second;
    *wanted.number = static_cast<int>(
        number(key, text, static_cast<std::uint64_t>(wanted.least), static_cast<std::uint64_t>(wanted.most)));
  } else {
    give_up("unknown key '" + std::string(key) + "'");
  }
}

// Data that are of no use when a signal ends us.
char unfinished[4096];

void remove_unfinished(int signal) {
  if (unfinished[0] != 0) unlink(unfinished);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void remove_on_signal(const std::string& path) {
  if (path.size() >= sizeof(unfinished)) return;
  std::memcpy(unfinished, path.c_str(), path.size() + 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, remove_unfinished);
}

void generate(const std::string& path, const Shape& shape, const WriteOptions& options = {}) {
  const double locations =
      1.0 * shape.threads * shape.cold_per_thread + 1.0 * shape.locks * shape.hot_per_lock;
  if (locations > 2e9) give_up("expected at most 2,000,000,000 locations, found more");
  Generator generator(shape);
  Result<std::unique_ptr<TraceSink>> sink = create_trace(path, options);
  if (!sink.ok()) give_up(sink.error().message);
  if (path != "-") remove_on_signal(OutputFile::temporary_name(path));
  std::vector<Event> events(4096);
  while (true) {
    Result<std::size_t> got = generator.read(events);
    if (!got.ok()) give_up(got.error().message);
    if (*got == 0) break;
    if (Status status = (*sink)->write(generator.names(), std::span(events).first(*got)); !status.ok()) {
      give_up(status.error().message);
    }
  }
  if (Status status = (*sink)->close(generator.names()); !status.ok()) give_up(status.error().message);
  unfinished[0] = 0;
}

struct Measure {
  double seconds = 0;
  std::uint64_t events = 0;
  std::uint64_t races = 0;
  long peak_kib = 0;
};

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// In a child process, so that its peak memory is its own. CPU time, not wall time: the machine may be shared.
// `read` runs no detector at all.
Measure measure(const std::string& path, const std::string& spec) {
  int channel[2];
  if (pipe(channel) != 0) give_up("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    Measure result;
    Result<std::unique_ptr<TraceSource>> source = open_trace(path);
    if (!source.ok()) give_up(source.error().message);
    detect::RaceList races;
    std::vector<detect::Pipeline> pipelines;
    detect::Options options;
    options.memory_bytes = std::uint64_t{64} << 30;
    if (spec != "read") {
      Result<detect::Pipeline> pipeline =
          detect::make_pipeline(spec, detect::StageContext{&(*source)->names(), &races, options, {}});
      if (!pipeline.ok()) give_up(pipeline.error().message);
      pipelines.push_back(std::move(*pipeline));
    }
    const double start = cpu_seconds();
    Result<std::uint64_t> events = detect::run_pipelines(**source, pipelines, options);
    if (!events.ok()) give_up(events.error().message);
    result.seconds = cpu_seconds() - start;
    result.events = *events;
    result.races = races.races.size();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    result.peak_kib = usage.ru_maxrss;
    if (std::getenv("BENCH_STATISTICS") != nullptr) {
      for (const detect::Pipeline& pipeline : pipelines) {
        for (const auto& [stage, counters] : pipeline.statistics()) {
          for (const auto& [name, value] : counters) {
            std::fprintf(stderr, "  %s: %s: %llu\n", stage.c_str(), name.c_str(),
                         static_cast<unsigned long long>(value));
          }
        }
      }
    }
    if (write(channel[1], &result, sizeof(result)) != sizeof(result)) _exit(1);
    _exit(0);
  }
  close(channel[1]);
  Measure result;
  if (read(channel[0], &result, sizeof(result)) != sizeof(result)) give_up("no result from " + spec);
  close(channel[0]);
  waitpid(child, nullptr, 0);
  return result;
}

void header() {
  std::printf(
      "| pipeline | events | seconds (cpu) | million events/s | peak memory, MiB | races "
      "|\n|---|---|---|---|---|---|\n");
}

void row(const std::string& path, const std::string& spec) {
  const Measure result = measure(path, spec);
  std::string shown = spec;
  for (std::size_t i = 0; (i = shown.find('|', i)) != std::string::npos; i += 2) shown.insert(i, "\\");
  std::printf("| `%s` | %llu | %.2f | %.2f | %ld | %llu |\n", shown.c_str(),
              static_cast<unsigned long long>(result.events), result.seconds,
              static_cast<double>(result.events) / result.seconds / 1e6, result.peak_kib / 1024,
              static_cast<unsigned long long>(result.races));
  std::fflush(stdout);
}

std::vector<std::string> linear_detectors() {
  std::vector<std::string> names;
  for (const detect::DetectorInfo& info : detect::all_detectors()) {
    if (!info.is_filter && !info.whole_trace) names.emplace_back(info.name);
  }
  return names;
}

// Every pair of places races, and is seen racing again and again.
Shape racy_shape(std::uint64_t events) {
  Shape shape;
  shape.events = events;
  shape.locks = 8;
  shape.sites = 200;
  shape.chaos = 100;
  shape.hot_per_lock = shape.cold_per_thread = shape.read_only = shape.races = 0;
  return shape;
}

void table(Shape shape) {
  const std::uint64_t largest = shape.events;
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bench_trace" + std::to_string(getpid()) + ".dht")).string();

  std::printf("\nAll linear detectors, %llu events, %d threads, %d locks:\n\n",
              static_cast<unsigned long long>(shape.events), shape.threads, shape.locks);
  generate(path, shape);
  std::printf("(%.2f bytes an event on disk)\n\n",
              static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(shape.events));
  header();
  row(path, "read");
  for (const std::string& name : linear_detectors()) row(path, name);
  for (const char* spec : {"spans|fasttrack", "spans|hb", "tree|lockset", "tree|hybrid"}) row(path, spec);

  std::printf("\nOver the length of the trace:\n\n");
  header();
  for (std::uint64_t events = largest / 100; events <= largest; events *= 10) {
    shape.events = events;
    generate(path, shape);
    for (const char* spec : {"fasttrack", "hb", "shb", "wcp", "syncp"}) row(path, spec);
  }

  for (const std::uint64_t events : {largest / 100, largest / 10, largest}) {
    const Shape racy = racy_shape(events);
    if (events == largest / 100) {
      std::printf("\nWithout any discipline: %d threads, %d places, %d locations, %d locks:\n\n",
                  racy.threads, racy.sites, racy.chaos, racy.locks);
      header();
    }
    generate(path, racy);
    for (const char* spec : {"fasttrack", "hb", "shb", "wcp", "syncp"}) row(path, spec);
  }

  for (const int threads : {2, 8, 32, 128}) {
    shape.events = largest / 10;
    shape.threads = threads;
    shape.cold_per_thread = 160000 / threads;
    std::printf("\n%d threads, %d locations of each one's own:\n\n", threads, shape.cold_per_thread);
    generate(path, shape);
    header();
    for (const char* spec : {"fasttrack", "hb", "shb", "wcp", "syncp"}) row(path, spec);
  }

  std::printf(
      "\nClocks alone, million synchronisations a second:\n\n| threads | locks | synchronisations | plain "
      "vector clocks | shared "
      "copies | tree clocks |\n|---|---|---|---|---|---|\n");
  for (const int threads : {8, 32, 128, 512}) {
    for (const int locks : {64, 2048}) {
      shape = Shape{};
      shape.events = largest / 5;
      shape.threads = threads;
      shape.locks = locks;
      shape.sync_percent = 60;
      generate(path, shape);
      compare_clocks(path);
    }
  }
  std::filesystem::remove(path);
}

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 2 && arguments[0] == "generate") {
    Shape shape;
    WriteOptions options;
    for (std::size_t i = 2; i < arguments.size(); ++i) {
      if (arguments[i].starts_with("level=")) {
        options.compression_level =
            static_cast<int>(number("level", std::string_view(arguments[i]).substr(6), 0, 22));
      } else {
        set(shape, arguments[i]);
      }
    }
    generate(arguments[1], shape, options);
    return 0;
  }
  if (arguments.size() >= 2 && arguments[0] == "run") {
    header();
    std::vector<std::string> specs(arguments.begin() + 2, arguments.end());
    if (specs.empty()) specs = linear_detectors();
    for (const std::string& spec : specs) row(arguments[1], spec);
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "clocks") {
    compare_clocks(arguments[1]);
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "table") {
    Shape shape;
    shape.events = 10000000;
    for (std::size_t i = 1; i < arguments.size(); ++i) set(shape, arguments[i]);
    table(shape);
    return 0;
  }
  std::fprintf(stderr,
               "usage: bench_trace generate FILE [key=value...] | run FILE [SPEC...] | clocks FILE | table "
               "[key=value...]\n");
  return 2;
}

}  // namespace
}  // namespace deadheat::bench

int main(int argc, char** argv) { return deadheat::bench::main(argc, argv); }
