// The four renderings of the same findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/html.h"
#include "report/json.h"
#include "report/merge.h"
#include "report/prose.h"
#include "report/sarif.h"
#include "report/terminal.h"
#include "report/test_findings.h"

namespace deadheat::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Report bank() {
  Access write = access(1, Operation::kWrite, at("bank.cpp", 12, "deposit(int)", 7));
  write.stack.pop_back();
  write.value = "0x4";
  write.value_before = "0x3";
  Access read = access(2, Operation::kRead, at("bank.cpp", 20, "audit()", 3));
  read.stack.pop_back();
  Lock lock;
  lock.name = "mutex";
  lock.address = 0x4020;
  lock.acquired = {at("bank.cpp", 18, "audit()")};
  read.locks = {lock};
  Report report = report_of(merge({race(write, read), race(write, read), race(write, read)}));
  report.statistics = {{"accesses", "123"}, {"filter", "\"spans\""}, {"odd", "not json"}};
  return report;
}

TEST(Json, IsTheContract) {
  // Every field of the contract with its exact name, order and type.
  std::string expected = R"~({
  "schema": "deadheat-report/1",
  "tool": {
    "name": "deadheat",
    "version": ")~" DEADHEAT_VERSION R"~("
  },
  "program": {
    "command": [
      "./bank",
      "8"
    ],
    "exit": 0
  },
  "mode": "watch",
  "findings": [
    {
      "fingerprint": ")~" +
                         bank().findings[0].fingerprint + R"~(",
      "kind": "data-race",
      "detectors": [
        "fasttrack"
      ],
      "verdict": "unclassified",
      "reason": "",
      "why": "only one of the two accesses holds a lock, and no synchronisation between the two threads lies between them",
      "variable": {
        "name": "balance",
        "kind": "global",
        "address": "0x4010",
        "size": 4,
        "offset": 0,
        "declared": {
          "file": "bank.cpp",
          "line": 2
        }
      },
      "accesses": [
        {
          "thread": 1,
          "operation": "write",
          "size": 4,
          "location": {
            "file": "bank.cpp",
            "line": 12,
            "column": 7,
            "function": "deposit(int)"
          },
          "stack": [
            {
              "file": "bank.cpp",
              "line": 12,
              "column": 7,
              "function": "deposit(int)"
            }
          ],
          "locks": [],
          "value": "0x4",
          "value_before": "0x3"
        },
        {
          "thread": 2,
          "operation": "read",
          "size": 4,
          "location": {
            "file": "bank.cpp",
            "line": 20,
            "column": 3,
            "function": "audit()"
          },
          "stack": [
            {
              "file": "bank.cpp",
              "line": 20,
              "column": 3,
              "function": "audit()"
            }
          ],
          "locks": [
            {
              "name": "mutex",
              "address": "0x4020",
              "shared": false,
              "stack": [
                {
                  "file": "bank.cpp",
                  "line": 18,
                  "column": 3,
                  "function": "audit()"
                }
              ]
            }
          ]
        }
      ],
      "threads": [
        {
          "id": 1,
          "parent": 0,
          "created": [
            {
              "file": "main.cpp",
              "line": 50,
              "column": 3,
              "function": "main"
            }
          ]
        },
        {
          "id": 2,
          "parent": 0,
          "created": []
        }
      ],
      "instances": 3
    }
  ],
  "summary": {
    "findings": 1,
    "harmful": 0,
    "benign": 0,
    "ordered": 0,
    "unclassified": 1,
    "suppressed": 0,
    "incomplete": false
  },
  "notes": [],
  "statistics": {
    "accesses": 123,
    "filter": "spans",
    "odd": "not json"
  }
}
)~";
  EXPECT_EQ(render_json(bank()), expected);
}

TEST(Json, ATracesFindingHasEventsPlacesAndWitness) {
  Finding finding;
  finding.accesses.resize(2);
  finding.accesses[0].event = 3;
  finding.accesses[0].location.place = "120";
  finding.accesses[1].event = 7;
  finding.accesses[1].location.place = "121";
  finding.witness = {0, 7, 3};
  finding.variables.resize(1);
  finding.variables[0].name = "x";
  finding.variables[0].kind = VariableKind::kTrace;
  json found = json::parse(render_json(report_of({finding})))["findings"][0];
  EXPECT_EQ(found["accesses"][0]["event"], 3);
  EXPECT_EQ(found["accesses"][0]["location"], json::parse(R"({"place":"120"})"));
  EXPECT_EQ(found["witness"], json::parse("[0,7,3]"));
  EXPECT_EQ(found["variable"], json::parse(R"({"name":"x","kind":"trace"})"));
}

TEST(Json, AWitnessThatIsAPartOfTheTraceIsSaidByThread) {
  Finding finding;
  finding.detectors = {"mcm"};
  finding.accesses.resize(2);
  finding.accesses[0].event = 30;
  finding.accesses[1].event = 70;
  finding.witness_prefix = {{"T0", 12}, {"T1", 0}, {"pool-3", 1}};
  json found = json::parse(render_json(report_of({finding})))["findings"][0];
  EXPECT_FALSE(found.contains("witness"));
  EXPECT_EQ(found["witness_prefix"], json::parse(R"([{"thread":"T0","events":12},{"thread":"T1","events":0},
                                                     {"thread":"pool-3","events":1}])"));
  EXPECT_EQ(
      prefix_text(finding),
      "in the order of the trace, the first events of each thread: 12 of T0, 0 of T1 and 1 of pool-3; then "
      "events 30 and 70");
  EXPECT_THAT(sure_text(finding), testing::StartsWith("certain: the schedule above"));
}

TEST(Json, NamesThatAreNotUtf8AreStillJson) {
  Report report = bank();
  report.findings[0].accesses[0].location.function = "f\xff\x01";
  json parsed = json::parse(render_json(report), nullptr, false);
  EXPECT_FALSE(parsed.is_discarded());
}

TEST(Sarif, HasWhatTheStandardRequires) {
  json sarif = json::parse(render_sarif(bank(), ""));
  EXPECT_EQ(sarif["version"], "2.1.0");
  ASSERT_EQ(sarif["runs"].size(), 1u);
  const json& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "deadheat");
  EXPECT_TRUE(run["invocations"][0]["executionSuccessful"].is_boolean());
  ASSERT_EQ(run["results"].size(), 1u);
  const json& result = run["results"][0];
  EXPECT_TRUE(result["message"]["text"].is_string());
  int rule = result["ruleIndex"];
  EXPECT_EQ(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["partialFingerprints"]["deadheat/v1"], bank().findings[0].fingerprint);
  EXPECT_EQ(result["occurrenceCount"], 3);
  const json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "bank.cpp");
  EXPECT_EQ(place["region"]["startLine"], 12);
  EXPECT_EQ(place["region"]["startColumn"], 7);
  ASSERT_EQ(result["relatedLocations"].size(), 2u) << "the other access and the variable";
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 20);
  ASSERT_EQ(result["codeFlows"][0]["threadFlows"].size(), 2u);
  for (const json& flow : result["codeFlows"][0]["threadFlows"]) EXPECT_GE(flow["locations"].size(), 1u);
}

TEST(Sarif, PathsAreUrisRelativeToTheSources) {
  Report report = bank();
  report.findings[0].accesses[0].location.file = "/home/me/project/src/a b#1.cpp";
  report.findings[0].accesses[1].location.file = "/home/me/project2/x.cpp";
  json result = json::parse(render_sarif(report, "/home/me/project/"))["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/a%20b%231.cpp");
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "file:///home/me/project2/x.cpp");
}

TEST(Sarif, LinesAndColumnsThatAreUnknownAreLeftOut) {
  Report report = bank();
  Location& place = report.findings[0].accesses[0].location;
  place.column = 0;
  json result = json::parse(render_sarif(report, ""))["runs"][0]["results"][0];
  EXPECT_FALSE(result["locations"][0]["physicalLocation"]["region"].contains("startColumn"));
  place = Location();
  place.place = "src/a.c:7";
  result = json::parse(render_sarif(report, ""))["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/a.c");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 7);
  place.place = "120";
  result = json::parse(render_sarif(report, ""))["runs"][0]["results"][0];
  EXPECT_FALSE(result["locations"][0].contains("physicalLocation"));
}

TEST(Sarif, StaysWithinWhatViewersTake) {
  std::vector<Finding> many(6000, bank().findings[0]);
  many[0].accesses[0].stack.assign(5000, at("deep.cpp", 1));
  json run = json::parse(render_sarif(report_of(many), ""))["runs"][0];
  EXPECT_EQ(run["results"].size(), 5000u);
  EXPECT_EQ(run["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"].size(), 100u);
  EXPECT_THAT(run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(),
              HasSubstr("1000 of 6000"));
}

TEST(Html, EscapesWhatIsNotItsOwn) {
  Report report = bank();
  report.findings[0].variables[0].name = "<script>alert('x')</script>";
  report.program.command = {"\"><img src=x>"};
  std::string html = render_html(report);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
}

TEST(Html, NeedsNothingFromOutside) {
  std::string html = render_html(bank());
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("deposit(int)"));
  EXPECT_THAT(html, HasSubstr(bank().findings[0].fingerprint));
  EXPECT_THAT(render_html(report_of({})), HasSubstr("nothing found"));
}

class Terminal : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/deadheat-test-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  void TearDown() override {
    unlink((folder_ + "/bank.cpp").c_str());
    rmdir(folder_.c_str());
  }
  std::string folder_;
};

TEST_F(Terminal, AnswersTheQuestionsInOrder) {
  std::string text = render_terminal(bank(), {});
  std::size_t last = 0;
  for (const char* part :
       {"data race on balance (global, 4 bytes, bank.cpp:2)", "write of 4 bytes by thread 1",
        "value changed: 3 -> 4", "deposit(int)  bank.cpp:12:7", "holds no lock",
        "read of 4 bytes by thread 2", "holds mutex, taken at bank.cpp:18:3 in audit()",
        "thread 1 was created by the main thread", "why:", "sure:  certain",
        "again: deadheat run -- ./bank 8", "seen:  3 times", "deadheat: 1 finding (3 instances)"}) {
    std::size_t found = text.find(part, last);
    ASSERT_NE(found, std::string::npos) << part << "\nnot found in order in\n" << text;
    last = found;
  }
  EXPECT_THAT(text, Not(HasSubstr("\033"))) << "colour only when asked for";
  EXPECT_THAT(render_terminal(bank(), {.color = true}), HasSubstr("\033[1;31m"));
}

TEST_F(Terminal, ShowsTheSourceLineWithACaret) {
  Report report = bank();
  Location& place = report.findings[0].accesses[0].location;
  place.file = folder_ + "/bank.cpp";
  place.line = 2;
  place.column = 10;
  std::ofstream(place.file) << "int balance;\n\tgrüße = 1;\x1b[31m\n";
  std::string text = render_terminal(report, {});
  // The tab is four columns; a column counts bytes, the caret counts characters.
  EXPECT_THAT(text, HasSubstr("2 |     grüße = 1;?[31m\n          |           ^\n"));
}

TEST_F(Terminal, AFileNewerThanTheProgramIsNotShown) {
  Report report = bank();
  Location& place = report.findings[0].accesses[0].location;
  place.file = folder_ + "/bank.cpp";
  place.line = 1;
  place.module = "/proc/self/exe";
  std::ofstream(place.file) << "int balance;\n";
  EXPECT_THAT(render_terminal(report, {}), Not(HasSubstr("int balance;")));
}

TEST_F(Terminal, ControlCharactersOfTheProgramDoNotReachTheTerminal) {
  Report report = bank();
  report.findings[0].threads[0].name = "evil\033]0;title\007";
  report.findings[0].accesses[0].stack[0].function = "f\033[2J";
  report.notes = {"a\033b"};
  EXPECT_THAT(render_terminal(report, {}), Not(HasSubstr("\033")));
}

TEST(Prose, ValuesReadAsNumbers) {
  Access access;
  access.operation = Operation::kWrite;
  access.value = "0x10";
  EXPECT_EQ(value_text(access), "value written: 16");
  access.value_before = "0x10";
  EXPECT_EQ(value_text(access), "value kept: 16");
  access.value_before = "0x7fff12345678";
  EXPECT_EQ(value_text(access), "value changed: 0x7fff12345678 -> 16");
  access.operation = Operation::kRead;
  EXPECT_EQ(value_text(access), "value read: 16");
  access.value = "0xzz";
  EXPECT_EQ(value_text(access), "value read: 0xzz");
}

TEST(Prose, CommandsCanBePastedIntoAShell) {
  EXPECT_EQ(shell_quoted("./bank"), "./bank");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace deadheat::report
