// The findings of a program that runs, printed as its processes write them to their logs.
//
// A thread of its own looks at the logs a few times a second. It blocks all signals: those are the main
// thread's, which hands them to the program.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/reporting.h"
#include "cli/told_findings.h"
#include "report/raw.h"
#include "report/source.h"
#include "report/symbolizer.h"

namespace deadheat::cli {

class LiveFindings {
 public:
  LiveFindings(std::string folder, Reporting& reporting, const std::vector<std::string>& command);
  ~LiveFindings();
  // The program has ended: what is left is printed.
  void finish();

 private:
  struct Log {
    std::size_t read = 0;
    std::unique_ptr<report::RawParser> parser;
  };

  void run();
  void look();
  void on_race(const report::RawLog& log, const report::RawRace& race);

  std::string folder_;
  Reporting& reporting_;
  std::string again_;
  std::map<std::string, Log> logs_;
  ToldFindings told_;
  report::Symbolizer symbolizer_;
  report::SourceCache sources_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace deadheat::cli
