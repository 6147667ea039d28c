// Progress on a terminal: nothing for the first second, one line that is overwritten afterwards, and gone
// when done. When standard error is not a terminal, nothing at all.
#pragma once

#include <chrono>
#include <string>

namespace deadheat::cli {

class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `fraction` between 0 and 1, negative if unknown. Cheap enough to call often.
  void show(const std::string& what, double fraction);
  void clear();

 private:
  using Time = std::chrono::steady_clock;
  bool on_;
  bool shown_ = false;
  Time::time_point next_;
};

}  // namespace deadheat::cli
