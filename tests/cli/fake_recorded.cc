// A program that is recorded, without compiler and runtime (testing/fake_recorded.h): what a command line
// test needs of one. It takes the arena from DEADHEAT_OPTIONS.
//
//   fake_recorded [threads N] [values N] [print TEXT] [signal N] [sleep MILLISECONDS] [until-stopped] [exit
//   N]
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "testing/fake_recorded.h"
#include "testing/recording_builder.h"

using namespace deadheat;
using recording::SequencerKind;

namespace {

std::string option(const std::string& key) {
  const char* text = getenv("DEADHEAT_OPTIONS");
  const std::string options = text == nullptr ? "" : " " + std::string(text) + " ";
  const std::size_t at = options.find(" " + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t start = at + key.size() + 2;
  return options.substr(start, options.find(' ', start) - start);
}

void log_values(testing::FakeThread& thread, testing::FakeRecorded& program, long values) {
  std::mt19937_64 random(thread.number());
  for (long i = 0; i < values && !program.is_stopped(); ++i) {
    thread.predict(i % 20);
    thread.value(random(), 8);
    if (i % 100 == 0) thread.sequencer(SequencerKind::kLockAcquired, 0x1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // where the writer is gone before this has begun, nobody else would end it
  const std::string arena = option("arena"), folder = option("record");
  // Not one descriptor more than without us.
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  if (arena.empty() || folder.empty()) {
    std::puts("not recorded");
    return 3;
  }
  testing::FakeRecorded program(std::atoi(arena.c_str()));
  testing::write_file(folder + "/modules/0.map",
                      "module 2d06800538d394c2 1\nglobals 5000\nfunction 2d06800538d394c2 0 4000\n");
  testing::write_file(folder + "/modules/2d06800538d394c2.bc", "");  // XXH3-64 of nothing
  testing::FakeThread main_thread(program);
  std::vector<std::string> words(argv + 1, argv + argc);
  long values = 1000;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const long number = i + 1 < words.size() ? std::atol(words[i + 1].c_str()) : 0;
    if (words[i] == "values") {
      values = number;
      ++i;
    } else if (words[i] == "threads") {
      std::vector<std::thread> threads;
      for (long k = 0; k < number; ++k) {
        main_thread.sequencer(SequencerKind::kThreadCreated, 0, k + 1);
        threads.emplace_back([&] {
          testing::FakeThread thread(program);
          thread.sequencer(SequencerKind::kThreadStarted, 0, 0);
          log_values(thread, program, values);
          thread.end();
        });
      }
      for (std::thread& thread : threads) thread.join();
      ++i;
    } else if (words[i] == "print") {
      std::printf("%s, descriptor %d\n", words[++i].c_str(), next);
      std::fflush(stdout);
    } else if (words[i] == "signal") {
      log_values(main_thread, program, values);
      kill(getpid(), static_cast<int>(number));
      ++i;
    } else if (words[i] == "sleep") {
      usleep(static_cast<useconds_t>(number * 1000));
      ++i;
    } else if (words[i] == "until-stopped") {
      while (!program.is_stopped()) log_values(main_thread, program, 100000);
    } else if (words[i] == "exit") {
      program.finish(static_cast<int>(number));
      return static_cast<int>(number);
    }
  }
  program.finish(0);
  return 0;
}
