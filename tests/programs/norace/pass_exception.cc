// rule: code shapes
// claim: a catch block inside a critical section is protected
// expect: nothing
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
  std::lock_guard guard(mutex);
  try {
    fail(5);
  } catch (const std::exception&) {
    data = 1;
  }
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  std::lock_guard guard(mutex);
  use(data);
  return nullptr;
}

int main() { run2(writer, reader); }
