// rule: libraries
// claim: who gets a handler of the C++ library, or its default memory resource, comes after who set it
// expect: nothing
// flags: -std=c++17
#include <exception>
#include <memory_resource>
#include <new>

#include "../order.h"

alignas(8) int limit, code, size;
static std::pmr::memory_resource* mine;

static void on_new() { std::set_new_handler(nullptr); }
static void on_terminate() { abort(); }

static void* first(void*) {
  limit = 5;
  std::set_new_handler(on_new);
  code = 5;
  std::set_terminate(on_terminate);
  size = 5;
  std::pmr::set_default_resource(mine);
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  if (std::get_new_handler() == on_new) limit = 6;
  if (std::get_terminate() == on_terminate) code = 6;
  if (std::pmr::get_default_resource() == mine) size = 6;
  return nullptr;
}

int main() {
  mine = std::pmr::null_memory_resource();
  run2(first, second);
}
