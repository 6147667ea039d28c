// make bench-predict: time of prediction against the distance of the race, the number of threads and the
// number of locks.
//
// Without arguments all tables; `bench_predict goal` only the first. `bench_predict write FILE` writes the
// trace of the goal.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "detect/predictor.h"
#include "far_races.h"
#include "testing/generate.h"

namespace {

using namespace deadheat;

std::uint64_t statistic(const detect::Prediction& prediction, std::string_view name) {
  for (const auto& [key, value] : prediction.statistics) {
    if (key == name) return value;
  }
  return 0;
}

void header(const char* title) {
  std::printf("\n%s\n%-24s %9s %8s %7s %9s %9s %9s %9s %8s\n", title, "", "planted", "found", "decoys",
              "others", "pairs", "solver", "undecided", "seconds");
}

void row(const std::string& label, const bench::PlantedTrace& planted, bool barriers,
         double seconds_allowed) {
  detect::Options options;
  options.jobs = static_cast<int>(std::thread::hardware_concurrency());
  options.solver_seconds = seconds_allowed;
  auto start = std::chrono::steady_clock::now();
  auto prediction =
      detect::predict(planted.trace.events, planted.trace.names, options, {.barriers = barriers});
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!prediction.ok()) {
    std::printf("%-24s %s\n", label.c_str(), prediction.error().message.c_str());
    return;
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> found;
  for (const auto& race : prediction->races) found.insert({race.first, race.second});
  std::size_t complete = 0, hits = 0;
  for (auto pair : planted.races) {
    complete += pair.second != 0;
    hits += found.contains(pair);
  }
  std::printf("%-24s %9zu %8zu %7llu %9zu %9llu %9llu %9llu %8.2f\n", label.c_str(), complete, hits,
              static_cast<unsigned long long>(planted.decoys), found.size() - hits,
              static_cast<unsigned long long>(statistic(*prediction, "pairs_decided")),
              static_cast<unsigned long long>(statistic(*prediction, "given_to_solver")),
              static_cast<unsigned long long>(prediction->undecided), seconds);
  std::fflush(stdout);
}

void row(const std::string& label, const bench::FarRaces& shape) {
  row(label, bench::far_races(shape), shape.calls, 60);
}

// No discipline at all: every access of every location anywhere, inside locks or not. The hardest traces we
// know.
bench::PlantedTrace chaos(int events, int values) {
  std::mt19937_64 random(7);
  testing::RandomShape shape;
  shape.events = events;
  shape.threads = 4;
  shape.locks = 4;
  shape.locations = 12;
  shape.values = values;
  shape.max_held = 2;
  shape.access_weight = 40;
  shape.sites = testing::Sites::kByAccess;
  return {testing::random_trace(shape, random), {}};
}

std::vector<std::uint64_t> goal_distances() {
  std::vector<std::uint64_t> distances;
  for (std::uint64_t distance : {10, 30, 100, 300, 1000, 3000, 5000, 10000, 15000, 20000}) {
    distances.push_back(distance);
    distances.push_back(distance);  // one outside and one inside a critical section
  }
  return distances;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "write") == 0) {
    bench::PlantedTrace planted = bench::far_races({.distances = goal_distances()});
    auto sink = create_trace(argv[2], {.extended = true});
    if (!sink.ok() || !(*sink)->write(planted.trace.names, planted.trace.events).ok() ||
        !(*sink)->close(planted.trace.names).ok()) {
      std::fprintf(stderr, "bench_predict: cannot write %s\n", argv[2]);
      return 2;
    }
    return 0;
  }
  bool all = argc < 2;
  header("25,000 events, 4 threads, 8 locks, races at 10 distances from 10 to 20,000, twice each");
  row("same write", {.distances = goal_distances()});
  row("values", {.distances = goal_distances(), .values = true});
  row("values and mailboxes", {.distances = goal_distances(), .values = true, .mailboxes = true});
  row("rdit, with calls", {.distances = goal_distances(), .calls = true});
  header("the same with decoys: pairs that no lock or clock rules out, and that are no races");
  for (int decoys : {300, 700}) {
    row("same write", {.distances = goal_distances(), .decoys = decoys});
    row("values", {.distances = goal_distances(), .values = true, .decoys = decoys});
    row("values and mailboxes",
        {.distances = goal_distances(), .values = true, .mailboxes = true, .decoys = decoys});
    row("rdit, with calls", {.distances = goal_distances(), .calls = true, .decoys = decoys});
  }
  if (!all) return 0;
  header("by distance (25,000 events, 4 threads, 8 locks, 8 races)");
  for (std::uint64_t distance : {10, 100, 1000, 10000, 20000}) {
    std::vector<std::uint64_t> distances(8, distance);
    row("distance " + std::to_string(distance), {.distances = distances});
    row("  with values", {.distances = distances, .values = true});
  }
  header("by threads (25,000 events, 8 locks, goal's distances)");
  for (int threads : {2, 4, 8, 16}) {
    row(std::to_string(threads) + " threads", {.threads = threads, .distances = goal_distances()});
    row("  with values", {.threads = threads, .distances = goal_distances(), .values = true});
  }
  header("by locks (25,000 events, 4 threads, goal's distances)");
  for (int locks : {1, 4, 16, 64}) {
    row(std::to_string(locks) + " locks", {.locks = locks, .distances = goal_distances()});
    row("  with values", {.locks = locks, .distances = goal_distances(), .values = true});
  }
  header("by length (4 threads, 8 locks, goal's distances)");
  for (std::uint64_t events : {25'000, 100'000, 400'000}) {
    row(std::to_string(events) + " events", {.events = events, .distances = goal_distances()});
  }
  header("chaos (4 threads, 4 locks, 12 locations, no discipline; 30 seconds allowed)");
  for (int events : {250, 500, 1000}) {
    row(std::to_string(events) + " events", chaos(events, 0), false, 30);
    row("  three values", chaos(events, 3), false, 30);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("\npeak memory of all: %ld MB\n", usage.ru_maxrss / 1024);
  return 0;
}
