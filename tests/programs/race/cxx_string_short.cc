// rule: libraries
// claim: characters and lengths of strings, long and short, race as any others do
// flags: -std=c++11
// expect: race any@a any@e
// expect: race any@b any@f
// expect: race any@c any@g
// expect: race any@d any@h
#include <string>

#include "../order.h"

// Each change in a function of its own, so that the optimiser leaves it its line.
#define APART __attribute__((noinline)) static void

static volatile size_t three = 3;
std::string brief("abc"), longer("a text of more than sixteen characters"), moved("abc"), resized("abc");

APART change() { brief.replace(three - 1, 1, 1, 'x'); }          // @a
APART change_longer() { longer.replace(three - 1, 1, 1, 'x'); }  // @b
APART move() { std::string const away(std::move(moved)); }       // @c
APART resize() { resized.resize(three + 2); }                    // @d

static void* first(void*) {
  change();
  change_longer();
  move();
  resize();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  use(brief[2]);                           // @e
  use(longer[2]);                          // @f
  use(moved[0]);                           // @g
  use(static_cast<long>(resized.size()));  // @h
  return nullptr;
}

int main() { run2(first, second); }
