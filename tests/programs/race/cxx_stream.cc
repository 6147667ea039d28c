// rule: libraries
// claim: two threads that use one stream race, whatever they do with it, though it is compiled into libstdc++
// flags: -std=c++17
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
#include <fstream>
#include <sstream>
#include <string>

#include "../order.h"

std::ostringstream numbers, looked_at, put, widths;
std::istringstream words("one two three"), lines("one\ntwo\n"), values("1 2 3");
std::ofstream file("/dev/null");
std::string line;
double value;

static void* first(void*) {
  numbers << 1;               // @a
  looked_at << "text";        // @b
  put.put('x');               // @c
  widths.width(5);            // @d
  words.get();                // @e
  std::getline(lines, line);  // @f
  values >> value;            // @g
  file << "text";             // @h
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  numbers << 2.5;                                  // @aa
  use(static_cast<long>(looked_at.str().size()));  // @bb
  put.write("text", 4);                            // @cc
  widths << 7;                                     // @dd
  use(words.peek());                               // @ee
  use(static_cast<long>(line.size()));             // @ff
  use(static_cast<long>(value));                   // @gg
  file << 3;                                       // @hh
  return nullptr;
}

int main() { run2(first, second); }
