#include "cli/replay_look.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "replay/timeline.h"

namespace deadheat::cli {
namespace {

using replay::Timeline;

constexpr char kHelp[] =
    "  until N              go to where synchronisation N has happened, forwards or back\n"
    "  back N               go N synchronisations back\n"
    "  end                  go to the end of the recording\n"
    "  print WHAT...        accesses, calls, syncs: print these on the way; off: nothing\n"
    "  memory ADDRESS SIZE  what memory holds here; ?? where it is not known\n"
    "  threads              where every thread is, and what it does next\n"
    "  help, quit\n";

std::optional<std::uint64_t> number(const std::vector<std::string>& words, std::size_t i) {
  if (i >= words.size() || words[i].empty() || words[i][0] == '-') return std::nullopt;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(words[i].c_str(), &end, 0);
  if (*end != '\0') return std::nullopt;
  return value;
}

class Looking {
 public:
  explicit Looking(Timeline& timeline) : timeline_(timeline) {}

  // False: no more commands. `problem_` is the exit code then.
  bool obey(const std::vector<std::string>& words) {
    const std::string& verb = words[0];
    if (verb == "quit" || verb == "exit") return false;
    if (verb == "help") {
      fmt::print("{}", kHelp);
    } else if (verb == "until" && number(words, 1)) {
      return go(*number(words, 1));
    } else if (verb == "back" && number(words, 1)) {
      const std::uint64_t here = timeline_.here().number;
      return go(here - std::min(here, *number(words, 1)));
    } else if (verb == "end") {
      return go(~std::uint64_t{0} - 1);
    } else if (verb == "print" && words.size() > 1) {
      print(words);
    } else if (verb == "memory" && number(words, 1) && number(words, 2)) {
      return show(timeline_.memory(*number(words, 1), *number(words, 2)));
    } else if (verb == "threads") {
      return show(timeline_.threads());
    } else {
      complain(fmt::format("expected a command, found '{}'; they are:\n{}", verb, kHelp));
      exit_code = kExitUsage;
    }
    return true;
  }

  int exit_code = kExitClean;

 private:
  bool fail(const Error& error) {
    complain(error.message);
    exit_code = kExitUsage;
    return false;
  }

  bool go(std::uint64_t target) {
    const Result<Timeline::Arrival> arrival = timeline_.go(target);
    if (!arrival) return fail(arrival.error());
    const Timeline::Arrival& at = arrival.value();
    const std::string way =
        at.was_back ? fmt::format("{} regions replayed from the checkpoint before synchronisation {}",
                                  at.regions, at.from)
                    : fmt::format("{} regions replayed", at.regions);
    if (at.is_at_end)
      fmt::print("at the end, after synchronisation {} ({})\n", at.number, way);
    else
      fmt::print("after synchronisation {} ({})\n", at.number, way);
    return true;
  }

  bool show(const Result<std::string>& answer) {
    if (!answer) return fail(answer.error());
    fmt::print("{}", answer.value());
    return true;
  }

  void print(const std::vector<std::string>& words) {
    replay::Printed printed;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i] == "accesses")
        printed.accesses = true;
      else if (words[i] == "calls")
        printed.calls = true;
      else if (words[i] == "syncs")
        printed.synchronisation = true;
      else if (words[i] != "off")
        complain(fmt::format("print: expected accesses, calls, syncs or off, found '{}'", words[i]));
    }
    timeline_.print(printed);
  }

  Timeline& timeline_;
};

}  // namespace

int replay_look(const recording::Reader& recording) {
  const Result<std::unique_ptr<Timeline>> timeline = Timeline::open(recording, {});
  if (!timeline) {
    complain(timeline.error().message);
    return kExitUsage;
  }
  Looking looking(*timeline.value());
  const bool is_terminal = isatty(STDIN_FILENO) != 0;
  for (std::string line;;) {
    if (is_terminal) {
      fmt::print("> ");
      std::fflush(stdout);
    }
    if (!std::getline(std::cin, line)) break;
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0][0] == '#') continue;
    const bool goes_on = looking.obey(words);
    std::fflush(stdout);
    if (!goes_on) break;
  }
  return looking.exit_code;
}

}  // namespace deadheat::cli
