// How fast recordings are written and read, on this machine:
//
//   bench_recording [RECORDING]
//
// With a recording, its own streams are the material (again and again, up to 256 MiB); without, random values
// between runs of predicted ones, which compress badly. Compression: bytes a second and ratio, by zstd level.
// Reading: all items of all threads through ThreadStream. Drain: a forked program copies the material into
// its rings as fast as it can; bytes a second from ring to disk, the writer's CPU, and how long the program
// had to wait. Idle: the writer's CPU while a program with as many threads does nothing.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "recording/drain.h"
#include "recording/log_file.h"
#include "testing/fake_recorded.h"
#include "testing/recording_builder.h"

namespace {

using namespace deadheat;
using namespace deadheat::recording;
using Time = std::chrono::steady_clock;

constexpr std::size_t kMaterial = std::size_t{256} << 20;
constexpr int kThreads = 4;

double seconds_since(Time::time_point start) {
  return std::chrono::duration<double>(Time::now() - start).count();
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; }

// Pieces of a stream, each of whole items if it is our own.
std::vector<std::string> synthetic() {
  std::mt19937_64 random(1);
  Encoder encoder;
  std::vector<std::string> pieces;
  for (std::size_t bytes = 0; bytes < kMaterial / 8;) {
    for (int i = 0; i < 1000; ++i) encoder.value(random() % 30, random() & 0xffff, 1u << random() % 4);
    bytes += encoder.bytes().size();
    pieces.push_back(encoder.bytes());
    encoder.clear();
  }
  return pieces;
}

std::vector<std::string> material_of(const std::string& folder) {
  std::vector<std::string> pieces;
  auto reader = Reader::open(folder);
  auto log = LogFile::open(folder + "/" + kLogFile);
  if (!reader || !log) {
    fmt::print(stderr, "{}\n", reader ? log.error().message : reader.error().message);
    std::exit(2);
  }
  std::size_t bytes = 0;
  for (ThreadId thread : reader->threads()) {
    for (const Chunk& chunk : reader->chunks(thread)) {
      std::string raw(chunk.raw_bytes, '\0');
      if (!(*log)->read_chunk(thread, chunk, {reinterpret_cast<unsigned char*>(raw.data()), raw.size()}))
        std::exit(2);
      if ((bytes += raw.size()) > kMaterial) return pieces;
      pieces.push_back(std::move(raw));
    }
  }
  return pieces;
}

void compression(const std::vector<std::string>& pieces) {
  for (int level : {1, 2, 3}) {
    testing::ScratchFolder scratch;
    auto log = LogWriter::create(scratch / "log", level);
    std::string raw;
    const double before = cpu_seconds();
    std::uint64_t offset = 0;
    for (const std::string& piece : pieces) {
      raw += piece;
      if (raw.size() < kUsualChunkBytes) continue;
      raw.resize(std::min<std::size_t>(raw.size(), kMaxChunkBytes));
      if (!(*log)->append(ThreadId(0), offset, raw)) std::exit(2);
      offset += raw.size();
      raw.clear();
    }
    const double seconds = cpu_seconds() - before;
    fmt::print("compression, level {}   {:8.0f} MB/s of CPU   {:.2f} bytes stored a byte\n", level,
               megabytes((*log)->raw_bytes()) / seconds,
               static_cast<double>((*log)->bytes()) / static_cast<double>((*log)->raw_bytes()));
  }
}

void reading(const std::string& folder) {
  auto reader = Reader::open(folder);
  if (!reader) std::exit(2);
  std::uint64_t items = 0, bytes = 0;
  const double before = cpu_seconds();
  for (ThreadId thread : reader->threads()) {
    ThreadStream stream = reader->stream(thread);
    bytes += stream.raw_bytes();
    Item item;
    while (stream.next(item)) ++items;
  }
  const double seconds = cpu_seconds() - before;
  fmt::print("reading                {:8.0f} MB/s of CPU   {:.1f} million items/s\n",
             megabytes(bytes) / seconds, static_cast<double>(items) * 1e-6 / seconds);
}

void run_threads(testing::FakeRecorded& self, const std::vector<std::string>& pieces, std::size_t each) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      testing::FakeThread thread(self);
      for (std::size_t bytes = 0, next = 0; bytes < each; next = (next + 1) % pieces.size()) {
        for (std::size_t at = 0; at < pieces[next].size(); at += 65536) {
          thread.publish_raw(std::string_view(pieces[next]).substr(at, 65536));
        }
        bytes += pieces[next].size();
      }
      thread.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A drain while `program` runs in a child; prints what it cost.
void drain(const char* name, const std::function<void(testing::FakeRecorded&)>& program,
           const std::string& folder) {
  auto arena = Arena::create();
  if (!arena || !create_folder(folder, {}, {})) std::exit(2);
  DrainOptions options;
  options.folder = folder;
  auto writer = Drain::start(**arena, options);
  if (!writer) std::exit(2);
  const pid_t pid = fork();
  if (pid == 0) {
    testing::FakeRecorded self((*arena)->descriptor());
    program(self);
    _exit(0);
  }
  const auto start = Time::now();
  const double before = cpu_seconds();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    (*writer)->look();
    (*writer)->rest();
  }
  Fate fate;
  fate.is_known = true;
  if (!(*writer)->finish(fate)) std::exit(2);
  const double wall = seconds_since(start), cpu = cpu_seconds() - before;
  const std::uint64_t raw = (*writer)->ending().raw_bytes;
  fmt::print(
      "{:<22} {:8.0f} MB/s of CPU   {:.0f} MB/s; {:.2f} s of CPU in {:.2f} s ({:.1f} %), {:.1f} MB to disk\n",
      name, megabytes(raw) / cpu, megabytes(raw) / wall, cpu, wall, 100 * cpu / wall,
      megabytes((*writer)->ending().log_bytes));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> pieces = argc > 1 ? material_of(argv[1]) : synthetic();
  if (pieces.empty()) return 2;
  compression(pieces);
  testing::ScratchFolder scratch;
  drain(
      "drain, 4 threads",
      [&](testing::FakeRecorded& self) { run_threads(self, pieces, kMaterial / kThreads); },
      scratch / "busy");
  if (argc > 1) {
    reading(argv[1]);
  } else {
    reading(scratch / "busy");
  }
  drain(
      "idle, 4 threads",
      [&](testing::FakeRecorded& self) {
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
          threads.emplace_back([&] {
            testing::FakeThread thread(self);
            sleep(3);
            thread.end();
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      scratch / "idle");
  return 0;
}
