// CHECK guards an invariant of ours and stays on in release builds: a fault of Deadheat ends with exit code
// 70 and says where, never with a wrong answer.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace deadheat {

[[noreturn]] inline void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "deadheat: internal fault: %s:%d: check failed: %s\n", file, line, what);
  std::_Exit(70);
}

}  // namespace deadheat

#define DEADHEAT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::deadheat::check_failed(__FILE__, __LINE__, #condition))
