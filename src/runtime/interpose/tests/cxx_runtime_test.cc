// The C++ library: statics, exception_ptr, call_once, futures, threads.
#include <exception>
#include <future>
#include <iomanip>
#include <locale>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" int __cxa_guard_acquire(uint64_t*);
extern "C" void __cxa_guard_release(uint64_t*);
extern "C" void __cxa_guard_abort(uint64_t*);

static void guards() {
  static uint64_t guard;
  record_name(&guard, sizeof guard, "guard");
  EXPECT(CHECK(__cxa_guard_acquire(&guard) == 1), "acquire guard");
  EXPECT(__cxa_guard_abort(&guard), "release guard");
  EXPECT(CHECK(__cxa_guard_acquire(&guard) == 1), "acquire guard");
  EXPECT(__cxa_guard_release(&guard), "release guard");
  EXPECT(CHECK(__cxa_guard_acquire(&guard) == 0), "acquire guard");
}

static int make() {
  static int calls;
  if (++calls == 1) throw std::runtime_error("first");
  return calls;
}
static int local_static() {
  static int const value = make();
  return value;
}

static void statics_that_throw() {
  bool caught = false;
  try {
    local_static();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  CHECK(caught && local_static() == 2 && local_static() == 2);
}

static void exception_pointers() {
  std::exception_ptr p = std::make_exception_ptr(std::runtime_error("x"));
  void* const exception = *reinterpret_cast<void**>(&p);
  record_name(exception, 1, "e");
  std::exception_ptr q = p;
  EXPECT(q = nullptr, "release e");  // not the last
  try {
    std::rethrow_exception(p);
  } catch (const std::runtime_error&) {
    record_begin();
  }
  CHECK_RECORD("release e");  // the handler's end
  record_begin();
  p = nullptr;
  CHECK(strstr(record_end(), "release e; acquire e") == record_end());
  record_forget_names();
}

#ifndef TEST_IS_STATIC  // there, calls inside of one of the library's objects
                        // are its own
static void copies_of_errors() {
  auto* const one = new std::runtime_error("a text");
  auto* const two = new std::runtime_error(*one);
  std::runtime_error other("another");
  auto* const text = const_cast<char*>(one->what()) - 24;
  record_name(text, 1, "text");
  EXPECT(*one = other, "release text");
  record_begin();
  delete two;
  CHECK(strstr(record_end(), "release text; acquire text") == record_end());
  record_forget_names();
  delete one;
}
#endif

#ifndef TEST_IS_STATIC
struct Numbers : std::numpunct<char> {
  std::string do_grouping() const override { return "\3"; }
  std::string do_truename() const override { return "yes"; }
  std::string do_falsename() const override { return "no"; }
};
struct Money : std::moneypunct<wchar_t> {
  std::string do_grouping() const override { return "\3\2"; }
  std::wstring do_curr_symbol() const override { return L"$$"; }
  std::wstring do_positive_sign() const override { return L"+++"; }
  std::wstring do_negative_sign() const override { return L"-----"; }
};
// The cache as a whole, then its arrays.
static void caches_of_facets() {
  std::locale const place(std::locale(std::locale::classic(), new Numbers), new Money);
  std::ostringstream numbers;
  std::wostringstream money;
  numbers.imbue(place);
  money.imbue(place);
  record_allocations = 1;
  record_begin();
  numbers << 1;
  CHECK(strstr(record_end(), "published 144; published 1; published 3; published 2") != nullptr);
  record_begin();
  money << std::put_money(1);
  CHECK(strstr(record_end(),
               "published 160; published 2; published 8; "
               "published 12; published 20") != nullptr);
  EXPECT(numbers << 2, "");
  record_allocations = 0;
}
#endif

static void higher_things() {
  std::once_flag flag;
  int runs = 0;
  std::call_once(flag, [&] { ++runs; });
  std::call_once(flag, [&] { ++runs; });
  CHECK(runs == 1);
  record_begin();
  auto f = std::async(std::launch::async, [] { return 5; });
  CHECK(f.get() == 5);
  f = {};
  std::thread t([] {});
  t.join();
  const char* const text = record_end();
  CHECK(strstr(text, "thread_creating; thread_started") != nullptr);
  CHECK(strstr(text, "thread_joined") != nullptr);
}

int main() {
  guards();
  statics_that_throw();
  exception_pointers();
#ifndef TEST_IS_STATIC
  copies_of_errors();
  caches_of_facets();
#endif
  higher_things();
  return 0;
}
