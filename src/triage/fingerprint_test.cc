#include "triage/fingerprint.h"

#include <gtest/gtest.h>

namespace deadheat::triage {
namespace {

using report::Finding;
using report::Location;

Location at(const char* function, int function_line, const char* file, int line) {
  Location location;
  location.function = function;
  location.function_line = function_line;
  location.file = file;
  location.line = line;
  location.column = 7;
  location.module = "/build/app";
  location.offset = 0x1234;
  return location;
}

Finding between(Location a, Location b) {
  Finding finding;
  finding.accesses.resize(2);
  finding.accesses[0].location = std::move(a);
  finding.accesses[1].location = std::move(b);
  return finding;
}

std::string of(const Finding& finding) {
  std::vector<Finding> one = {finding};
  fingerprint(one);
  return one[0].fingerprint;
}

const Finding kRace =
    between(at("deposit(int)", 10, "src/bank.cpp", 12), at("audit()", 20, "src/bank.cpp", 25));

TEST(Fingerprint, IsSixteenHexDigitsAndNeverChanges) {
  // Written down: users keep lists of these.
  EXPECT_EQ(of(kRace), "b15a9ca12a84ebe4");
}

TEST(Fingerprint, SurvivesARebuild) {
  Finding moved = between(at("deposit(int)", 110, "/home/ci/checkout/src/bank.cpp", 112),
                          at("audit()", 220, "/home/ci/checkout/src/bank.cpp", 225));
  for (report::Access& access : moved.accesses) {
    access.location.module = "/elsewhere/app";
    access.location.offset = 0x9999;
    access.location.column = 9;
    access.operation = report::Operation::kWrite;
    access.thread = 17;
  }
  moved.instances = 5;
  EXPECT_EQ(of(moved), of(kRace));
}

TEST(Fingerprint, SurvivesTheOptimisersClones) {
  Finding clone = kRace;
  clone.accesses[0].location.function = "deposit(int) (.constprop.0)";
  EXPECT_EQ(of(clone), of(kRace));
  clone.accesses[0].location.function = "deposit";
  Finding cold = clone;
  cold.accesses[0].location.function = "deposit.cold";
  EXPECT_EQ(of(clone), of(cold));
}

TEST(Fingerprint, SurvivesWhateverElseCompilersAppend) {
  Finding c = kRace;
  c.accesses[0].location.function = "deposit";
  for (const char* name : {"deposit.llvm.1234567", "deposit.cold.2", "deposit.part.0.isra.3", "deposit.5",
                           "deposit.__uniq.123", "deposit.omp_outlined.4", "deposit.specialized.1"}) {
    Finding clone = c;
    clone.accesses[0].location.function = name;
    EXPECT_EQ(of(clone), of(c)) << name;
  }
  Finding cxx = kRace;
  cxx.accesses[0].location.function = "deposit(int) (.specialized.1) (.cold)";
  EXPECT_EQ(of(cxx), of(kRace));
  // Dots that are the program's own.
  Finding dots = kRace;
  dots.accesses[0].location.function = "print(char const*, ...)";
  Finding others = kRace;
  others.accesses[0].location.function = "print(char const*, int)";
  EXPECT_NE(of(dots), of(others));
}

TEST(Fingerprint, SurvivesTheNumbersOfLambdasAndUnnamedTypes) {
  const auto in = [](const char* function) {
    Finding finding = kRace;
    finding.accesses[0].location.function = function;
    return of(finding);
  };
  EXPECT_EQ(in("main::$_0::operator()() const"), in("main::$_12::operator()() const"));
  EXPECT_NE(in("main::$_0::operator()() const"), in("other()::$_0::operator()() const"));
  EXPECT_EQ(in("run<(lambda at a.cc:3:5)>"), in("run<(lambda at /ci/src/a.cc:30:7)>"));
  EXPECT_NE(in("run<(lambda at a.cc:3:5)>"), in("run<int>"));
  EXPECT_NE(in("main::$_0::operator()() const"), in("main::$_0::operator()(int) const"));
}

TEST(Fingerprint, TheLambdasOfOneFunctionAreToldApartByTheirLines) {
  std::vector<Finding> findings(
      2, between(at("main::$_0::operator()() const", 10, "a.cc", 12), at("main", 10, "a.cc", 20)));
  findings[1].accesses[0].location = at("main::$_1::operator()() const", 10, "a.cc", 14);
  const std::string alone = of(findings[1]);
  fingerprint(findings);
  EXPECT_NE(findings[0].fingerprint, findings[1].fingerprint);
  EXPECT_EQ(findings[1].fingerprint, alone) << "whether or not the other was found";
}

TEST(Fingerprint, DiffersByFunctionFileLineAndKind) {
  std::vector<Finding> others(4, kRace);
  others[0].accesses[0].location.function = "withdraw(int)";
  others[1].accesses[0].location.file = "src/other.cpp";
  others[2].accesses[0].location.line = 13;
  others[3].kind = report::Kind::kHighLevelRace;
  for (const Finding& other : others) EXPECT_NE(of(other), of(kRace));
}

TEST(Fingerprint, WithoutDebugInformationTheFunctionsCount) {
  Finding bare = kRace;
  for (report::Access& access : bare.accesses) {
    access.location.file.clear();
    access.location.line = access.location.function_line = 0;
  }
  Finding rebuilt = bare;
  rebuilt.accesses[0].location.offset += 64;
  EXPECT_EQ(of(bare), of(rebuilt));
  std::vector<Finding> both = {bare, rebuilt};
  fingerprint(both);
  EXPECT_NE(both[0].fingerprint, both[1].fingerprint) << "two findings of one report are told apart";
  EXPECT_EQ(both[0].fingerprint, of(bare)) << "and the first keeps its name";
}

TEST(Fingerprint, StrippedBinariesAndTracesHaveOneToo) {
  Location stripped;
  stripped.module = "/x/libz.so.1";
  stripped.offset = 0x10;
  Location place;
  place.place = "120";
  EXPECT_NE(of(between(stripped, stripped)), of(between(place, place)));
  Location moved = stripped;
  moved.module = "/y/libz.so.1";
  EXPECT_EQ(of(between(stripped, stripped)), of(between(moved, moved)));
}

}  // namespace
}  // namespace deadheat::triage
