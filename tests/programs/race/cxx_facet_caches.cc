// rule: libraries
// claim: what the library remembers of facets of numbers and of money orders no threads
// expect: race write@a read@b
#include <iomanip>
#include <locale>
#include <sstream>
#include <string>

#include "../order.h"

template <class Char>
struct Numbers : std::numpunct<Char> {
  Char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
  std::basic_string<Char> do_truename() const override { return std::basic_string<Char>(20, 'y'); }
};
template <class Char>
struct Money : std::moneypunct<Char> {
  std::string do_grouping() const override { return "\3"; }
  std::basic_string<Char> do_curr_symbol() const override { return std::basic_string<Char>(20, '$'); }
  std::basic_string<Char> do_positive_sign() const override { return std::basic_string<Char>(20, '+'); }
};
std::locale* place;
int printed;

template <class Char>
static void print() {
  std::basic_ostringstream<Char> out;
  out.imbue(*place);
  out << std::boolalpha << std::showbase << true << 1234567 << std::put_money(12345678.L);
  std::basic_istringstream<Char> in(out.str());
  in.imbue(*place);
  bool is_true = false;
  int number = 0;
  long double money = 0;
  in >> std::boolalpha >> is_true >> number >> std::get_money(money);
  use(is_true);
}

static void* first(void*) {
  print<char>();
  print<wchar_t>();
  printed = 1;  // @a
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  print<char>();
  print<wchar_t>();
  use(printed);  // @b
  return nullptr;
}

int main() {
  std::locale const one(std::locale(std::locale::classic(), new Numbers<char>), new Numbers<wchar_t>);
  std::locale const two(std::locale(one, new Money<char>), new Money<wchar_t>);
  place = new std::locale(two);
  run2(first, second);
  delete place;
}
