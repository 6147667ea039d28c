// An observer that tells what happens, a line an event, with source lines: deadheat replay --print.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replay/observer.h"

namespace deadheat::replay {

class Program;

struct Printed {
  bool accesses = false;
  bool calls = false;
  bool synchronisation = false;
};

class Printer : public Observer {
 public:
  using Write = std::function<void(std::string_view line)>;  // without the end of line
  Printer(const Program& program, Printed printed, Write write)
      : program_(program), printed_(printed), write_(std::move(write)) {}

  void on_thread_begin(ThreadId thread) override;
  void on_thread_end(ThreadId thread, const recording::End& end) override;
  void on_access(const Access& access) override;
  // Counts an access without printing it.
  void count(const Access& access) { ++accesses_[access.thread]; }
  void on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) override;
  void on_callback(ThreadId thread, const recording::Callback& callback) override;
  void on_enter(ThreadId thread, FunctionId function, SiteId site) override;
  void on_invisible_call(ThreadId thread, Address target, SiteId site) override;
  bool wants_calls() const override { return printed_.calls; }

 private:
  std::string at(SiteId site) const;

  const Program& program_;
  const Printed printed_;
  const Write write_;
  std::unordered_map<ThreadId, std::uint64_t> accesses_;
};

}  // namespace deadheat::replay
