// rule: code shapes
// claim: after an exception left a critical section, accesses are outside of it
// expect: race write@a read@b
#include <mutex>
#include <stdexcept>

#include "../order.h"

int data;
std::mutex mutex;

__attribute__((noinline)) static void fail(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  fail(depth - 1);
  use(depth);
}

static void* writer(void*) {
  try {
    std::lock_guard guard(mutex);
    fail(5);
  } catch (const std::exception&) {
    data = 1;  // @a
  }
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  std::lock_guard guard(mutex);
  use(data);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
