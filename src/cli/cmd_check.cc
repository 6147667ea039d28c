// deadheat check: compile, run and report in one step, leaving nothing behind but what was asked for.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "cli/command.h"
#include "cli/lane_options.h"
#include "cli/process.h"
#include "cli/recording_run.h"
#include "cli/reporting.h"
#include "cli/signals.h"
#include "cli/watching.h"
#include "report/prose.h"

namespace deadheat::cli {
namespace {

enum class Language { kC, kCpp, kObject, kUnknown };

Language language_of(const std::string& source) {
  std::string suffix = std::filesystem::path(source).extension().string();
  if (suffix == ".c") return Language::kC;
  for (const char* cpp : {".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C"}) {
    if (suffix == cpp) return Language::kCpp;
  }
  for (const char* object : {".o", ".a", ".so"}) {
    if (suffix == object) return Language::kObject;
  }
  return Language::kUnknown;
}

// Words as a shell would split them: blanks, quotes and backslashes, nothing else.
Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); i++) {
    char c = text[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (c == '\\' && quote == '"' && i + 1 < text.size() &&
                 (text[i + 1] == '"' || text[i + 1] == '\\')) {
        word += text[++i];
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return Error{fmt::format("--cflags: expected a closing {}, found the end", quote)};
  if (in_word) words.push_back(std::move(word));
  return words;
}

class CheckCommand : public Command {
 public:
  std::string name() const override { return "check"; }
  std::string summary() const override { return "compile C or C++ sources, run them and report their races"; }
  std::string usage() const override { return "check [options] SOURCE... [-- ARGS...]"; }
  std::string examples() const override {
    return "  deadheat check bank.cpp -- 8                  compile, run with one argument, report\n"
           "  deadheat check --cflags \"-std=c++20 -O2\" a.cc b.c\n"
           "  deadheat check --json - --quiet bank.cpp      JSON on standard output, nothing else\n"
           "  deadheat check --mode record --out bank.dh bank.cpp -- 8   compile it for recording, and "
           "record it\n";
  }

  void add_options(CLI::App& app) override {
    app.add_option("SOURCE", sources_,
                   "C (.c) or C++ (.cc, .cpp, .cxx, ...) sources, or objects of the wrappers");
    app.add_option("--cflags", cflags_, "flags for compiling and linking, after -g -O1 -pthread")
        ->type_name("FLAGS");
    lane_.add_options(app);
    record_.add_options(app);
    reporting_.add_options(app);
  }

  int run(const std::vector<std::string>& rest) override {
    if (sources_.empty()) return fail("check: no source given; usage: deadheat " + usage());
    auto flags = split_words(cflags_);
    if (!flags) return fail("check: " + flags.error().message);
    for (const std::string& source : sources_) {
      if (language_of(source) == Language::kUnknown) {
        return fail(
            fmt::format("{}: expected a C or C++ source by its suffix (.c, .cc, .cpp, .cxx, ...)", source));
      }
      struct stat status{};
      if (stat(source.c_str(), &status) != 0 || access(source.c_str(), R_OK) != 0) {
        return fail(fmt::format("{}: cannot be read: {}", source, std::strerror(errno)));
      }
      if (S_ISDIR(status.st_mode)) return fail(fmt::format("{}: expected a file, found a folder", source));
    }
    if (!lane_.prepare() || !record_.prepare(lane_.mode()) || !reporting_.prepare()) return kExitUsage;
    TemporaryFolder folder;
    if (folder.path().empty()) return fail(folder.error());
    auto program = build(folder.path(), *flags);
    if (!program) return fail(program.error().message);

    Watching watching;
    watching.program.file = *program;
    watching.program.words = {"./" + stem()};
    watching.program.words.insert(watching.program.words.end(), rest.begin(), rest.end());
    if (lane_.mode() == "record") return record_program(watching.program, record_, reporting_, again(rest));
    watching.options = lane_.runtime_options();
    auto watched = watch(watching, folder.path(), reporting_.suppressions());
    if (!watched) return fail(watched.error().message);
    if (!watched->any_log) {
      complain(fmt::format("{}: nothing was watched: the runtime did not start (exit code {})", sources_[0],
                           watched->end.code));
      return watched->end.code != 0 ? watched->end.code : kExitFault;
    }
    report::Report& report = watched->report;
    report.program.command = watching.program.words;
    report.program.again = again(rest);
    return reporting_.finish(report, watched->end.code);
  }

 private:
  static int fail(const std::string& what) {
    complain(what);
    return kExitUsage;
  }

  std::string stem() const { return std::filesystem::path(sources_[0]).stem().string(); }

  std::string again(const std::vector<std::string>& rest) const {
    std::string text = "deadheat check";
    if (lane_.mode() == "record") text += " --mode record --out " + report::shell_quoted(record_.out());
    if (!cflags_.empty()) text += " --cflags " + report::shell_quoted(cflags_);
    for (const std::string& source : sources_) text += " " + report::shell_quoted(source);
    if (!rest.empty()) text += " --";
    for (const std::string& word : rest) text += " " + report::shell_quoted(word);
    return text;
  }

  // Each source by its own language, then one link; sources are named as the user named them.
  Result<std::string> build(const std::string& folder, const std::vector<std::string>& flags) const {
    std::string cc = own_folder() + "/deadheat-cc", cxx = own_folder() + "/deadheat-c++";
    for (const std::string& compiler : {cc, cxx}) {
      if (access(compiler.c_str(), X_OK) != 0) {
        return Error{fmt::format("{}: the compiler wrapper is missing: {}", compiler, std::strerror(errno))};
      }
    }
    std::vector<std::string> common = {"-g", "-O1", "-pthread"};
    if (!lane_.mode().empty()) common.push_back("--deadheat-mode=" + lane_.mode());
    common.insert(common.end(), flags.begin(), flags.end());
    auto call = [&](const std::string& compiler, std::vector<std::string> words) -> Status {
      words.insert(words.begin(), compiler);
      words.insert(words.begin() + 1, common.begin(), common.end());
      auto end = run_program({compiler, words, {}});
      if (!end) return end.error();
      if (end->code != 0) return Error{fmt::format("compiler exit code {}", end->code)};
      return Nothing{};
    };
    std::vector<std::string> objects;
    bool any_cpp = false;
    for (const std::string& source : sources_) {
      Language language = language_of(source);
      if (language == Language::kObject) {
        objects.push_back(source);
        any_cpp = true;
        continue;
      }
      any_cpp |= language == Language::kCpp;
      std::string object = fmt::format("{}/{}.o", folder, objects.size());
      Status compiled = call(language == Language::kC ? cc : cxx, {"-c", source, "-o", object});
      if (!compiled) return Error{fmt::format("{}: does not compile ({})", source, compiled.error().message)};
      objects.push_back(object);
    }
    std::string program = folder + "/" + stem();
    std::vector<std::string> link = objects;
    link.insert(link.end(), {"-o", program});
    Status linked = call(any_cpp ? cxx : cc, link);
    if (!linked) return Error{fmt::format("{}: does not link ({})", sources_[0], linked.error().message)};
    return program;
  }

  std::vector<std::string> sources_;
  std::string cflags_;
  LaneOptions lane_;
  RecordOptions record_;
  Reporting reporting_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace deadheat::cli
