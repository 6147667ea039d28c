#include "triage/suppressions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadheat::triage {
namespace {

using report::Finding;
using report::Location;

TEST(Pattern, MatchesAsThreadSanitizerUsersExpect) {
  struct {
    const char* pattern;
    const char* text;
    bool matches;
  } cases[] = {
      {"foo", "foo", true},
      {"foo", "xfoox", true},  // anywhere, unless anchored
      {"foo", "fo", false},
      {"^foo", "foobar", true},
      {"^foo", "afoobar", false},
      {"foo$", "afoo", true},
      {"foo$", "foob", false},
      {"foo$", "foofoo", true},
      {"^foo$", "foo", true},
      {"^foo$", "foofoo", false},
      {"foo*bar", "xfoo()barx", true},
      {"foo*bar", "barfoo", false},
      {"^foo*bar$", "foobazbar", true},
      {"^foo*bar$", "foobar", true},
      {"^foo*bar$", "fooba", false},
      {"^fo*o$", "foo", true},
      {"^fo*oo$", "foo", false},
      {"^foo*oo$", "foo", false},  // one o cannot be both
      {"*", "x", true},
      {"*", "", false},  // nothing known is matched by nothing
      {"foo", "", false},
      {"^", "x", true},
      {"a**b", "a-b", true},
      {"^*foo", "xfoo", true},
      {"/usr/lib/*.so", "/usr/lib/libz.so.1", true},
      {"/usr/lib/*.so$", "/usr/lib/libz.so.1", false},
      {"$", "x", true},
      {"operator()(int*)", "operator()(intxx)",
       true},  // the asterisk is never literal; it matches itself too
      {"operator()(int*)", "operator()(int*)", true},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(pattern_matches(test.pattern, test.text), test.matches) << test.pattern << " on " << test.text;
  }
}

Location frame(const char* function, const char* file, const char* module = "/x/app") {
  Location location;
  location.function = function;
  location.file = file;
  location.line = *file == '\0' ? 0 : 1;
  location.module = module;
  location.offset = 0x10;
  return location;
}

Finding finding() {
  Finding finding;
  finding.accesses.resize(2);
  finding.accesses[0].stack = {frame("inner()", "lib/inner.h"), frame("deposit(int)", "bank.cpp")};
  finding.accesses[0].location = finding.accesses[0].stack[0];
  finding.accesses[1].stack = {frame("", "", "/usr/lib/libz.so.1")};
  finding.accesses[1].location = finding.accesses[1].stack[0];
  finding.threads.resize(1);
  finding.threads[0].created = {frame("main", "main.cpp")};
  finding.variables.resize(1);
  finding.variables[0].name = "balance";
  return finding;
}

bool suppressed_by(const std::string& text) {
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.parse(text, "s.txt").ok());
  return suppressions.match(finding()) != nullptr;
}

TEST(Suppressions, RaceMatchesFunctionFileModuleAndVariable) {
  EXPECT_TRUE(suppressed_by("race:deposit"));
  EXPECT_TRUE(suppressed_by("race:bank.cpp"));
  EXPECT_TRUE(suppressed_by("race:libz.so"));  // no symbols needed
  EXPECT_TRUE(suppressed_by("race:^balance$"));
  EXPECT_TRUE(suppressed_by("race:^main$"));  // the thread's creation
  EXPECT_FALSE(suppressed_by("race:withdraw"));
}

TEST(Suppressions, RaceTopMatchesOnlyWhereTheAccessIs) {
  EXPECT_TRUE(suppressed_by("race_top:inner"));
  EXPECT_TRUE(suppressed_by("race_top:libz.so"));
  EXPECT_FALSE(suppressed_by("race_top:deposit"));
  EXPECT_FALSE(suppressed_by("race_top:main"));
}

TEST(Suppressions, CalledFromLibMatchesTheFirstModuleOfAnAccess) {
  EXPECT_TRUE(suppressed_by("called_from_lib:libz.so"));
  EXPECT_FALSE(suppressed_by("called_from_lib:libc.so"));
}

TEST(Suppressions, CalledFromLibLooksPastCallsTheRuntimeStandsInFor) {
  Finding copied = finding();
  Location memcpy_frame;
  memcpy_frame.function = "memcpy";
  memcpy_frame.module = "/x/app";
  copied.accesses[1].stack.insert(copied.accesses[1].stack.begin(), memcpy_frame);
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.parse("called_from_lib:libz", "s.txt").ok());
  EXPECT_NE(suppressions.match(copied), nullptr);
}

TEST(Suppressions, OtherTypesAreAcceptedAndMatchNothing) {
  EXPECT_FALSE(suppressed_by("thread:*\nmutex:*\ndeadlock:*\nsignal:*"));
}

TEST(Suppressions, CommentsBlankLinesAndBlanksAreSkipped) {
  EXPECT_FALSE(suppressed_by("# race:deposit\n\n   \n\t# race:bank\r\n"));
  EXPECT_TRUE(suppressed_by("  race: deposit \r\n"));
}

TEST(Suppressions, ErrorsNameTheLine) {
  Suppressions suppressions;
  auto error = [&](const char* text) {
    Status status = suppressions.parse(text, "s.txt");
    EXPECT_FALSE(status.ok());
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_THAT(error("race:a\n\nrase:b\n"), testing::StartsWith("s.txt:3: expected \"type:pattern\""));
  EXPECT_THAT(error("race\n"), testing::StartsWith("s.txt:1: expected"));
  EXPECT_EQ(error("race:\n"), "s.txt:1: expected a pattern after \"race:\", found nothing");
  EXPECT_TRUE(suppressions.empty()) << "a bad file adds nothing";
  EXPECT_FALSE(suppressions.load("/nonexistent/s.txt").ok());
  EXPECT_FALSE(suppressions.load("/").ok());
}

TEST(Suppressions, UnusedOnesAreKnown) {
  Suppressions suppressions;
  ASSERT_TRUE(suppressions.parse("race:deposit\nrace:nobody\nmutex:x\n", "s.txt").ok());
  std::vector<Finding> findings = {finding(), finding()};
  EXPECT_EQ(suppressions.apply(findings), 2u);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(suppressions.all()[0].findings, 2u);
  ASSERT_EQ(suppressions.unused().size(), 1u);
  EXPECT_EQ(text_of(*suppressions.unused()[0]), "race:nobody");
  EXPECT_EQ(suppressions.unused()[0]->line, 2);
}

TEST(Suppressions, AProgramsOwnAreTakenOnceAndAsFarAsTheyCanBeRead) {
  Suppressions suppressions;
  for (int i = 0; i < 2; ++i) suppressions.take_programs_own("race:nobody\nno suppression\nrace:deposit");
  suppressions.take_programs_own("");
  EXPECT_EQ(suppressions.all().size(), 2u);
  std::vector<Finding> findings = {finding()};
  EXPECT_EQ(suppressions.apply(findings), 1u);
  EXPECT_TRUE(suppressions.unused().empty());
}

}  // namespace
}  // namespace deadheat::triage
