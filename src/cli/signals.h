// Signals that ask `deadheat` to end, and what must be cleaned up when it does.
//
// All such signals are blocked and taken by one thread, so that ending can do real work (remove a folder) in
// ordinary code. While a program runs, what a person types on the terminal (Ctrl-C) reaches the program
// without us, and what somebody sends to us (kill) is passed on; either way the program decides, and we
// report what it found. With no program running we clean up and end by the signal. A signal that was ignored
// when we were started stays ignored.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace deadheat::cli {

// Once, at the start of main.
void start_signal_handling();

// In a child, between fork and exec: everything as it was when we were started.
void restore_signals_in_child();

// fork(2) for a program that gets our signals from its first moment on, until `forget_program`.
pid_t fork_program();
void forget_program();

// From now on, signals that ask us to end are nothing to us: for a process that must outlive a Ctrl-C given
// to another.
void outlive_signals();

// From now on the first Ctrl-C only sets this flag; a second one, a second or more after it, ends us.
const std::atomic<bool>& interrupt_flag();

// As if that Ctrl-C had not come.
void forget_interrupt();

// A folder in $TMPDIR that is gone when this object is, or when a signal ends us.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if it could not be made; `error()` says why then.
  const std::string& path() const { return path_; }
  const std::string& error() const { return error_; }

 private:
  std::string path_;
  std::string error_;
};

// A file that goes with us if a signal ends us before `forget_file`.
void remove_file_on_signal(const std::string& path);
void forget_file(const std::string& path);

}  // namespace deadheat::cli
