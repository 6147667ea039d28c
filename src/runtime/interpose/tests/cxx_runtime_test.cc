// The C++ library: statics, exception_ptr, call_once, futures, threads.
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <future>
#include <iomanip>
#include <locale>
#include <memory_resource>
#include <mutex>
#include <new>
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

#ifndef TEST_IS_STATIC  // there, calls inside of one of the library's objects are its own
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
  CHECK(strstr(record_end(), "published 160; published 2; published 8; published 12; published 20") !=
        nullptr);
  EXPECT(numbers << 2, "");
  record_allocations = 0;
}
#endif

static void copies_of_directories() {
  namespace fs = std::filesystem;
  char name[] = "/tmp/deadheat-XXXXXX";
  CHECK(mkdtemp(name) != nullptr && fs::create_directory(fs::path(name) / "inner"));
  auto* const one = new fs::recursive_directory_iterator(name);
  fs::recursive_directory_iterator two(*one);
  // After the object comes the count, and after its functions the owners.
  auto* const owners = reinterpret_cast<char**>(&two)[1] + 8;
  record_name(owners, 1, "owners");
  record_begin();
  delete one;
  CHECK(strstr(record_end(), "release owners") == record_end());
  // Going on fails and lets go; then who is left is the last.
  auto* const three = new fs::recursive_directory_iterator(two);
  CHECK(fs::remove(fs::path(name) / "inner"));
  bool caught = false;
  record_begin();
  try {
    ++two;
  } catch (const fs::filesystem_error&) {
    caught = true;
  }
  CHECK(strstr(record_end(), "release owners") != nullptr);
  CHECK(caught && two == fs::recursive_directory_iterator());
  EXPECT(delete three, "acquire owners");
  record_forget_names();
  CHECK(rmdir(name) == 0);
}

static void set_and_get() {
  std::set_new_handler([] {});
  record_begin();
  auto* const handler = std::get_new_handler();
  CHECK(handler != nullptr && std::set_new_handler(nullptr) == handler && std::get_new_handler() == nullptr);
  auto* const before = std::get_terminate();
  CHECK(std::set_terminate(abort) == before && std::get_terminate() == abort);
  auto* const resource = std::pmr::get_default_resource();
  CHECK(resource->is_equal(*resource));
  resource->deallocate(resource->allocate(100, 64), 100, 64);
  CHECK(std::pmr::set_default_resource(std::pmr::null_memory_resource()) == resource);
  CHECK(std::pmr::set_default_resource(nullptr) == std::pmr::null_memory_resource());
  CHECK(std::pmr::get_default_resource() == resource);
  record_end();
}

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
  copies_of_directories();
  set_and_get();
  higher_things();
  return 0;
}
