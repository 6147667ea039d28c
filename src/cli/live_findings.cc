#include "cli/live_findings.h"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "report/merge.h"
#include "report/prose.h"
#include "report/resolve.h"
#include "report/terminal.h"

namespace deadheat::cli {

LiveFindings::LiveFindings(std::string folder, Reporting& reporting, const std::vector<std::string>& command)
    : folder_(std::move(folder)), reporting_(reporting), again_("deadheat run --") {
  for (const std::string& word : command) again_ += " " + report::shell_quoted(word);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LiveFindings::~LiveFindings() { finish(); }

void LiveFindings::finish() {
  if (!thread_.joinable()) return;
  ended_ = true;
  thread_.join();
  look();
}

void LiveFindings::run() {
  while (!ended_) {
    look();
    for (int i = 0; i < 10 && !ended_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void LiveFindings::look() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    if (!entry.path().filename().string().starts_with("raw.")) continue;
    Log& log = logs_[entry.path().string()];
    if (!log.parser)
      log.parser = std::make_unique<report::RawParser>(
          [this](const report::RawLog& of, const report::RawRace& race) { on_race(of, race); });
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(log.read));
    char buffer[1 << 14];
    while (file.read(buffer, sizeof buffer), file.gcount() > 0) {
      log.parser->feed({buffer, static_cast<std::size_t>(file.gcount())});
      log.read += static_cast<std::size_t>(file.gcount());
    }
  }
}

void LiveFindings::on_race(const report::RawLog& log, const report::RawRace& race) {
  report::Finding finding = report::resolve(log, race, symbolizer_);
  report::order_accesses(finding);
  reporting_.suppressions().take_programs_own(log.suppressions);
  if (reporting_.suppressions().match(finding) != nullptr) return;
  const ToldFindings::News news = told_.add(finding);
  if (news == ToldFindings::News::kVariable) fmt::print(stderr, "{}", ToldFindings::variable_line(finding));
  if (news != ToldFindings::News::kFinding) return;
  report::Report context;
  context.program.again = again_;
  const std::vector<report::Finding> one = report::merge({std::move(finding)});
  fmt::print(stderr, "{}", report::render_terminal(context, one[0], sources_, {.color = reporting_.color()}));
  std::fflush(stderr);
}

}  // namespace deadheat::cli
