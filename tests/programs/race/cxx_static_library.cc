// rule: libraries
// claim: with the C++ library linked in statically, an exception that is used after its owner let go races with its end by another
// expect: race read@a any@b
// flags: -std=c++20 -static-libstdc++
#include <exception>
#include <locale>
#include <sstream>

#include "../order.h"

struct Error {
  long value = 1;
  ~Error() { value = 0; }  // @b
};
struct Numbers : std::numpunct<char> {
  std::string do_grouping() const override { return "\3"; }
};
std::exception_ptr *one, *two;
std::locale* place;

static const Error* handle(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& e) {
    use(e.value);
    return &e;
  }
}

static void print() {
  std::ostringstream out;
  out.imbue(*place);
  out << 1234567;
}

static void* first(void*) {
  print();
  const Error* const error = handle(*one);
  delete one;
  use(error->value);  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  print();
  handle(*two);
  delete two;  // @b
  return nullptr;
}

int main() {
  place = new std::locale(std::locale::classic(), new Numbers);
  one = new std::exception_ptr(std::make_exception_ptr(Error()));
  two = new std::exception_ptr(*one);
  run2(first, second);
  delete place;
}
