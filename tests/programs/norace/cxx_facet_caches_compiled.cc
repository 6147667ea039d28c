// rule: libraries
// claim: what a facet says is remembered by code that is compiled into the program, and used by all threads with no alarm
// expect: nothing
#include <atomic>
#include <iterator>
#include <locale>
#include <sstream>
#include <string>

#include "../order.h"

struct Numbers : std::numpunct<char> {
  mutable std::atomic<int> asked{0};
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override {
    ++asked;
    return "yes, that is so";
  }
};
// Not one of those that the library has.
struct Put : std::num_put<char, std::back_insert_iterator<std::string>> {
  Put() : num_put(1) {}
  ~Put() override {}
};
Numbers* numbers;
std::locale* place;

static void print() {
  Put const facet;
  std::ostringstream flags;
  flags.imbue(*place);
  flags << std::boolalpha;
  std::string text;
  facet.put(std::back_inserter(text), flags, ' ', 1234567L);
  facet.put(std::back_inserter(text), flags, ' ', true);
  if (text != "1.234.567yes, that is so") abort();
}

static void* first(void*) {
  print();
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  print();
  use(numbers->asked);
  return nullptr;
}

int main() {
  numbers = new Numbers;
  place = new std::locale(std::locale::classic(), numbers);
  run2(first, second);
  delete place;
}
