// rule: libraries
// claim: whatever changes a string races with whoever looks at it, though libstdc++ has both compiled
// flags: -std=c++17
// expect: race any@a any@g
// expect: race any@b any@h
// expect: race any@c any@i
// expect: race any@d any@j
// expect: race any@e any@k
#include <string>

#include "../order.h"

// Each change in a function of its own, so that the optimiser leaves it its line.
#define APART __attribute__((noinline)) static void

static volatile size_t three = 3;
std::string pushed("abc"), erased("abcdef"), swapped("abc"), other("defg"), found("abc");
std::wstring wide(L"abc");

APART push() { pushed.push_back('d'); }        // @a
APART erase() { erased.erase(three, 1); }      // @b
APART swap() { swapped.swap(other); }          // @c
APART append() { wide.append(three, L'x'); }   // @d
APART replace() { found.replace(1, 1, "x"); }  // @e

static void* first(void*) {
  push();
  erase();
  swap();
  append();
  replace();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(static_cast<long>(pushed.find('b')));          // @g
  use(erased.compare("abcdef"));                     // @h
  use(swapped.c_str()[0]);                           // @i
  use(static_cast<long>(wide.find_last_of(L"ab")));  // @j
  use(static_cast<long>(found.find("x")));           // @k
  return nullptr;
}

int main() { run2(first, second); }
