// rule: libraries
// claim: what is done after setting a handler, or the default memory resource, is not ordered before who gets it
// expect: race write@a write@b
// expect: race write@c write@d
// expect: race write@e write@f
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
  std::set_new_handler(on_new);
  std::set_terminate(on_terminate);
  std::pmr::set_default_resource(mine);
  limit = 5;  // @a
  code = 5;  // @c
  size = 5;  // @e
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  if (std::get_new_handler() == on_new) limit = 6;  // @b
  if (std::get_terminate() == on_terminate) code = 6;  // @d
  if (std::pmr::get_default_resource() == mine) size = 6;  // @f
  return nullptr;
}

int main() {
  mine = std::pmr::null_memory_resource();
  run2(first, second);
}
