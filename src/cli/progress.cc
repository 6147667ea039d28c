#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace deadheat::cli {

Progress::Progress(bool wanted)
    : on_(wanted && isatty(STDERR_FILENO) != 0), next_(Time::now() + std::chrono::seconds(1)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& what, double fraction) {
  if (!on_ || Time::now() < next_) return;
  next_ = Time::now() + std::chrono::milliseconds(200);
  std::string percent = fraction < 0 ? "" : fmt::format(" {:.0f} %", std::min(fraction, 1.0) * 100);
  fmt::print(stderr, "\r\033[Kdeadheat: {}{}", what, percent);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace deadheat::cli
