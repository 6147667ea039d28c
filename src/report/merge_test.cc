#include "report/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/json.h"
#include "report/prose.h"
#include "report/test_findings.h"

namespace deadheat::report {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Merge, APairOfPlacesIsOneFindingWhateverTheOrder) {
  Access write = access(1, Operation::kWrite, at("bank.cpp", 12));
  Access read = access(2, Operation::kRead, at("bank.cpp", 20));
  std::vector<Finding> findings = merge({race(write, read), race(read, write), race(write, read)});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].instances, 3u);
  EXPECT_EQ(findings[0].accesses[0].location.line, 12);
  EXPECT_EQ(findings[0].accesses[1].location.line, 20);
}

TEST(Merge, TheSameLineIsTheSamePlaceWhateverTheColumnAndOperation) {
  Finding write_write = race(access(1, Operation::kWrite, at("bank.cpp", 12, "f()", 5)),
                             access(2, Operation::kWrite, at("bank.cpp", 12, "f()", 5)));
  Finding read_write = race(access(2, Operation::kRead, at("bank.cpp", 12, "f()", 9)),
                            access(1, Operation::kWrite, at("bank.cpp", 12, "f()", 5)));
  for (auto instances : {std::vector{write_write, read_write}, std::vector{read_write, write_write}}) {
    std::vector<Finding> findings = merge(instances);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].accesses[0].operation, Operation::kWrite) << "two writes say more";
    EXPECT_EQ(findings[0].accesses[1].operation, Operation::kWrite);
  }
}

TEST(Merge, DifferentLinesAreDifferentFindingsInTheOrderOfPlaces) {
  Access at9 = access(1, Operation::kWrite, at("bank.cpp", 9));
  Access at10 = access(2, Operation::kWrite, at("bank.cpp", 10));
  Access at20 = access(2, Operation::kWrite, at("bank.cpp", 20));
  std::vector<Finding> findings = merge({race(at10, at20), race(at9, at20), race(at9, at10)});
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].accesses[1].location.line, 10);
  EXPECT_EQ(findings[1].accesses[1].location.line, 20);
  EXPECT_EQ(findings[2].accesses[0].location.line, 10);
}

TEST(Merge, WhatIsShownDoesNotDependOnTheOrderOfArrival) {
  std::vector<Finding> instances;
  for (int line : {12, 14}) {
    for (Operation operation : {Operation::kRead, Operation::kWrite}) {
      for (const char* caller : {"b.cpp", "a.cpp"}) {
        Finding instance = race(access(1, Operation::kWrite, at("bank.cpp", line)),
                                access(1, operation, at("bank.cpp", 20)));
        instance.accesses[0].stack[1] = at(caller, 7, "caller()");
        instance.variables[0].name = caller;
        instances.push_back(instance);
      }
    }
  }
  std::string expected;
  std::vector<std::size_t> order(instances.size());
  for (std::size_t i = 0; i < order.size(); i++) order[i] = i;
  for (int round = 0; round < 50; round++) {
    std::vector<Finding> shuffled;
    for (std::size_t i : order) shuffled.push_back(instances[i]);
    std::string json = render_json(report_of(merge(shuffled)));
    if (round == 0) expected = json;
    ASSERT_EQ(json, expected) << "round " << round;
    for (int i = 0; i < 977; i++) std::next_permutation(order.begin(), order.end());
  }
}

TEST(Merge, EqualPlacesAreOrderedByOperationAndStackThenThread) {
  Finding finding =
      race(access(2, Operation::kRead, at("a.cpp", 1)), access(1, Operation::kWrite, at("a.cpp", 1)));
  order_accesses(finding);
  EXPECT_EQ(finding.accesses[0].operation, Operation::kWrite);
  Finding same =
      race(access(2, Operation::kWrite, at("a.cpp", 1)), access(1, Operation::kWrite, at("a.cpp", 1)));
  order_accesses(same);
  EXPECT_EQ(same.accesses[0].thread, 1u);
}

TEST(Merge, PlacesOfTracesAreOrderedAsNumbers) {
  auto trace_access = [](std::uint64_t event, const char* place) {
    Access access;
    access.location.place = place;
    access.event = event;
    return access;
  };
  Finding finding;
  finding.accesses = {trace_access(5, "10"), trace_access(3, "9")};
  std::vector<Finding> findings = merge({finding});
  EXPECT_EQ(findings[0].accesses[0].location.place, "9");
  finding.accesses = {trace_access(5, "x.c:10"), trace_access(3, "x.c:9")};
  EXPECT_EQ(merge({finding})[0].accesses[0].location.place, "x.c:9");
  // What is not ASCII comes after what is, as in every other comparison of strings.
  finding.accesses = {trace_access(1, "\xC3\xBC.c:4"), trace_access(2, "a b.c:3")};
  EXPECT_EQ(merge({finding})[0].accesses[0].location.place, "a b.c:3");
}

TEST(Merge, TheSameTwoEventsFoundTwiceAreOneInstance) {
  Access a, b;
  a.location.place = "1";
  a.event = 4;
  b.location.place = "2";
  b.event = 9;
  Finding by_hb = race(a, b), by_mcm = race(b, a), later = race(a, b);
  by_hb.detectors = {"hb"};
  by_mcm.detectors = {"mcm"};
  by_mcm.witness = {4, 9};
  later.accesses[1].event = 12;
  std::vector<Finding> findings = merge({by_hb, by_mcm, later});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].instances, 2u);
  EXPECT_THAT(findings[0].witness, SizeIs(2)) << "the instance with a witness is shown";
}

Finding trace_race(std::uint64_t first, std::uint64_t second, const char* detector,
                   std::vector<std::uint64_t> witness = {}) {
  Access a, b;
  a.location.place = "1";
  a.event = first;
  a.operation = Operation::kWrite;
  b.location.place = "2";
  b.event = second;
  Finding finding = race(a, b);
  finding.detectors = {detector};
  finding.witness = std::move(witness);
  return finding;
}

TEST(Merge, AnInstanceWithAWitnessIsShownWhateverElseWasFound) {
  Finding observed = trace_race(0, 1, "shb"), predicted = trace_race(2, 1, "mcm", {1, 2});
  observed.accesses[1].operation = Operation::kWrite;  // two writes say more, but less than a witness
  for (auto instances : {std::vector{observed, predicted}, std::vector{predicted, observed}}) {
    std::vector<Finding> findings = merge(instances);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_THAT(findings[0].witness, ElementsAre(1, 2));
    EXPECT_EQ(findings[0].accesses[0].event, 2u) << "and the accesses are the witness's";
  }
  Finding prefix = trace_race(2, 1, "syncp");
  prefix.witness_prefix = {{"T1", 7}};
  EXPECT_THAT(merge({observed, prefix})[0].witness_prefix, SizeIs(1)) << "a short form of one will do";
}

TEST(Merge, EventsAreNotAttributedToADetectorThatDoesNotMeanThem) {
  std::vector<Finding> findings =
      merge({trace_race(1, 5, "hb"), trace_race(4, 5, "mcm", {0, 4, 5}), trace_race(1, 5, "lockset")});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].detectors, ElementsAre("hb", "lockset", "mcm")) << "true of the places";
  EXPECT_THAT(findings[0].shown_by, ElementsAre("mcm")) << "true of the events";
  EXPECT_EQ(findings[0].accesses[0].event, 4u);
  EXPECT_THAT(sure_text(findings[0]), testing::HasSubstr("checked independently")) << "not what hb says";
  EXPECT_THAT(render_json(report_of(findings)), testing::HasSubstr("\"shown_by\""));
}

TEST(Merge, WithoutWitnessesTheStrongerDetectorIsShown) {
  auto shown = [](std::vector<Finding> instances) { return *merge(instances)[0].accesses[0].event; };
  EXPECT_EQ(shown({trace_race(1, 5, "hb"), trace_race(4, 5, "shb")}), 4u);
  EXPECT_EQ(shown({trace_race(1, 5, "wcp"), trace_race(4, 5, "spans|hb")}), 4u);
  EXPECT_EQ(shown({trace_race(1, 5, "lockset"), trace_race(4, 5, "cp")}), 4u);
  EXPECT_EQ(shown({trace_race(1, 5, "tree|shb"), trace_race(4, 5, "shb")}), 4u);
}

TEST(Merge, DetectorsThatMeanTheSameEventsNeedNoFurtherWord) {
  EXPECT_THAT(merge({trace_race(1, 5, "hb"), trace_race(1, 5, "shb")})[0].shown_by, SizeIs(0));
}

TEST(Merge, DetectorsAreJoined) {
  Access write = access(1, Operation::kWrite, at("bank.cpp", 12));
  Finding a = race(write, write), b = race(write, write);
  b.detectors = {"hb"};
  EXPECT_THAT(merge({b, a})[0].detectors, ElementsAre("fasttrack", "hb"));
}

TEST(Merge, OtherVariablesOfThePlacesAreNotLost) {
  Access write = access(1, Operation::kWrite, at("bank.cpp", 12));
  Finding a = race(write, write), b = race(write, write), heap = race(write, write);
  b.variables[0].name = "total";
  heap.variables[0].name.clear();
  heap.variables[0].kind = VariableKind::kHeap;
  std::vector<Finding> findings = merge({b, heap, a, heap});
  ASSERT_THAT(findings[0].variables, SizeIs(3));
  EXPECT_EQ(findings[0].variables[0].name, "balance");
  EXPECT_EQ(findings[0].variables[1].name, "total");
  EXPECT_EQ(findings[0].variables[2].kind, VariableKind::kHeap);
}

TEST(Merge, WithoutSourcesTheAddressInTheModuleIsThePlace) {
  Access a = access(1, Operation::kWrite, at("", 0)), b = a;
  a.location.offset = 0x10;
  b.location.offset = 0x20;
  EXPECT_THAT(merge({race(a, a), race(a, b), race(b, a)}), SizeIs(2));
}

}  // namespace
}  // namespace deadheat::report
