#include "report/function_names.h"

#include <gtest/gtest.h>

namespace deadheat::report {
namespace {

TEST(FunctionNames, DefaultsAreLeftOut) {
  EXPECT_EQ(short_function("deposit(int)"), "deposit(int)");
  EXPECT_EQ(short_function("std::vector<int, std::allocator<int>>::push_back(int&&)"),
            "std::vector<int>::push_back(int&&)");
  EXPECT_EQ(short_function(
                "f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>> const&)"),
            "f(std::string const&)");
  EXPECT_EQ(
      short_function("std::map<int, std::vector<int, std::allocator<int>>, std::less<int>, "
                     "std::allocator<std::pair<int const, std::vector<int, std::allocator<int>>>>>::at(int)"),
      "std::map<int, std::vector<int>>::at(int)");
  EXPECT_EQ(short_function("(anonymous namespace)::worker(void*)"), "worker(void*)");
}

TEST(FunctionNames, BriefIsTheQualifiedName) {
  EXPECT_EQ(brief_function("void std::vector<int, std::allocator<int>>::_M_realloc_insert<int>(int*, int&&)"),
            "std::vector<int>::_M_realloc_insert<int>");
  EXPECT_EQ(brief_function("start_thread"), "start_thread");
  EXPECT_EQ(brief_function("main::$_0::operator()() const"), "main::$_0::operator()");
  EXPECT_EQ(brief_function("std::ostream& std::operator<<<char>(std::ostream&, char)"),
            "std::operator<<<char>");
  EXPECT_EQ(brief_function("std::__invoke_result<main::$_0>::type std::__invoke<main::$_0>(main::$_0&&)"),
            "std::__invoke<main::$_0>");
  EXPECT_EQ(
      brief_function("std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::$_0>>>::_M_run()"),
      "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::$_0>>>::_M_run");
}

TEST(FunctionNames, OddNamesDoNoHarm) {
  for (const char* odd :
       {"", "<", ">", "(", "operator", "operator<", "a<b<c", ", std::allocator<", " ", "f(", "x ("}) {
    short_function(odd);
    brief_function(odd);
  }
  EXPECT_EQ(short_function(std::string(1000, 'x')).size(), 123u);
}

}  // namespace
}  // namespace deadheat::report
