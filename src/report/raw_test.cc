#include "report/raw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>

namespace deadheat::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const char kStart[] =
    R"({"t":"start","pid":123,"version":"0.1.0","mode":"watch","argv":["./a","b"],"deadheat":1})";
const char kModule[] =
    R"({"t":"module","id":0,"path":"/x/a.out","base":"0x1000","end":"0x2000","build_id":"ab12"})";
const char kThread[] = R"({"t":"thread","id":1,"parent":0,"name":"w","stack":["0x1004"],"os":1234})";
const char kRace[] =
    R"({"t":"race","detector":"fasttrack","addr":"0x1800","var":{"kind":"heap","addr":"0x17f0","size":40,"thread":0,)"
    R"("stack":["0x1008"]},"accesses":[{"thread":1,"op":"write","size":4,"addr":"0x1800","stack":["0x1010","0x1020"],)"
    R"("locks":[{"addr":"0x1900","shared":true,"stack":["0x1030"]}],"value":"0x4","before":"0x3"},)"
    R"({"thread":0,"op":"atomic-read","size":2,"stack":["0x1040"]}],"why":"because"})";
const char kEnd[] = R"({"t":"end","exit":3,"statistics":{"accesses":123,"filter":"spans"}})";

std::string lines(std::initializer_list<const char*> all) {
  std::string text;
  for (const char* line : all) text += std::string(line) + "\n";
  return text;
}

RawLog only_log(std::string_view text) {
  RawParser parser;
  parser.feed(text);
  std::vector<RawLog> logs = std::move(parser).take();
  EXPECT_THAT(logs, SizeIs(1));
  return logs[0];
}

TEST(Raw, EveryFieldIsRead) {
  RawLog log = only_log(lines({kStart, kModule, kThread, kRace, kEnd}));
  EXPECT_EQ(log.damaged, 0u);
  EXPECT_TRUE(log.started);
  EXPECT_EQ(log.pid, 123u);
  EXPECT_EQ(log.mode, "watch");
  EXPECT_THAT(log.argv, ElementsAre("./a", "b"));
  ASSERT_THAT(log.modules, SizeIs(1));
  EXPECT_EQ(log.modules[0].build_id, "ab12");
  EXPECT_EQ(log.threads.at(1).name, "w");
  EXPECT_EQ(log.threads.at(1).parent, 0u);
  EXPECT_EQ(log.threads.at(1).os_id, 1234u);
  ASSERT_THAT(log.races, SizeIs(1));
  const RawRace& race = log.races[0];
  EXPECT_EQ(race.variable.kind, VariableKind::kHeap);
  EXPECT_EQ(race.variable.size, 40u);
  EXPECT_THAT(race.variable.stack, ElementsAre(0x1008));
  ASSERT_THAT(race.accesses, SizeIs(2));
  EXPECT_EQ(race.accesses[0].operation, Operation::kWrite);
  EXPECT_THAT(race.accesses[0].stack, ElementsAre(0x1010, 0x1020));
  EXPECT_EQ(race.accesses[0].value, "0x4");
  EXPECT_EQ(race.accesses[0].before, "0x3");
  ASSERT_THAT(race.accesses[0].locks, SizeIs(1));
  EXPECT_TRUE(race.accesses[0].locks[0].shared);
  EXPECT_EQ(race.accesses[1].operation, Operation::kAtomicRead);
  EXPECT_EQ(race.accesses[1].address, 0x1800u) << "an access without an address is at the race's";
  EXPECT_EQ(race.why, "because");
  EXPECT_TRUE(log.ended);
  EXPECT_EQ(log.exit, 3);
  EXPECT_EQ(log.statistics.at("accesses"), "123");
  EXPECT_EQ(log.statistics.at("filter"), "\"spans\"");
}

TEST(Raw, AFileCutAnywhereIsReadUpToItsLastFullLine) {
  std::string text = lines({kStart, kModule, kThread, kRace, kEnd});
  for (std::size_t cut = 0; cut <= text.size(); cut++) {
    RawLog log = only_log(std::string_view(text).substr(0, cut));
    EXPECT_EQ(log.damaged, 0u) << "cut at " << cut;
    EXPECT_EQ(log.ended, cut == text.size());
  }
}

TEST(Raw, PiecesOfAnySizeGiveTheSameLog) {
  std::string text = lines({kStart, kModule, kThread, kRace, kRace, kEnd});
  for (std::size_t piece : {1u, 2u, 7u, 64u, 1000u}) {
    RawParser parser;
    for (std::size_t at = 0; at < text.size(); at += piece)
      parser.feed(std::string_view(text).substr(at, piece));
    EXPECT_EQ(parser.logs()[0].races.size(), 2u);
    EXPECT_TRUE(parser.logs()[0].ended);
  }
}

TEST(Raw, DamagedLinesAreCountedAndSkipped) {
  RawLog log =
      only_log(lines({kStart, "not json", "[]", "{\"t\":\"race\",\"accesses\":7}",
                      "{\"t\":\"race\",\"accesses\":[{\"op\":\"jump\"},{\"op\":\"read\"}]}", kRace}));
  EXPECT_EQ(log.damaged, 4u);
  EXPECT_THAT(log.first_damage, HasSubstr("line 2"));
  EXPECT_THAT(log.races, SizeIs(1));
}

TEST(Raw, AWrongFieldNamesItself) {
  RawLog log = only_log(lines({kStart, R"({"t":"module","base":"12"})"}));
  EXPECT_EQ(log.first_damage, "line 2: \"base\": expected a number or \"0x...\"");
}

TEST(Raw, AnotherFormatIsRefused) {
  RawLog log = only_log(lines({R"({"t":"start","pid":1,"deadheat":2})"}));
  EXPECT_FALSE(log.started);
  EXPECT_THAT(log.first_damage, HasSubstr("expected raw format 1, found 2"));
}

TEST(Raw, InstancesAreCountedByTheRacesNumber) {
  std::string race = kRace;
  race.insert(1, "\"id\":7,");
  RawLog log = only_log(race + "\n" + R"({"t":"instances","race":7,"count":41})" + "\n");
  ASSERT_THAT(log.races, SizeIs(1));
  EXPECT_EQ(log.instances_of(log.races[0]), 41u);
  log.races[0].id = 8;
  EXPECT_EQ(log.instances_of(log.races[0]), 1u);
  log.races[0].id.reset();
  EXPECT_EQ(log.instances_of(log.races[0]), 1u);
}

TEST(Raw, UnknownLinesAreOfANewerRuntimeAndIgnored) {
  EXPECT_EQ(only_log(lines({kStart, R"({"t":"weather","rain":true})"})).damaged, 0u);
}

TEST(Raw, AfterExecTheModulesAreThoseOfTheNewProgram) {
  RawParser parser;
  parser.feed(lines({kStart, kModule, kRace, kStart, kRace}));
  ASSERT_THAT(parser.logs(), SizeIs(2));
  EXPECT_THAT(parser.logs()[0].modules, SizeIs(1));
  EXPECT_THAT(parser.logs()[1].modules, SizeIs(0));
  EXPECT_THAT(parser.logs()[1].races, SizeIs(1));
}

TEST(Raw, TheNewestModuleAtAnAddressCounts) {
  RawLog log =
      only_log(lines({kModule, R"({"t":"module","id":1,"path":"/x/b.so","base":"0x1800","end":"0x1900"})"}));
  EXPECT_EQ(log.module_of(0x17ff)->path, "/x/a.out");
  EXPECT_EQ(log.module_of(0x1800)->path, "/x/b.so");
  EXPECT_EQ(log.module_of(0x1900)->path, "/x/a.out");
  EXPECT_EQ(log.module_of(0x2000), nullptr);
  EXPECT_EQ(log.module_of(0xfff), nullptr);
  RawLog late =
      only_log(lines({R"({"t":"module","path":"/x/c","base":"0x0","begin":"0x400000","end":"0x500000"})"}));
  EXPECT_EQ(late.module_of(0x1000), nullptr) << "a fixed address program starts at its first segment";
  EXPECT_NE(late.module_of(0x400000), nullptr);
}

TEST(Raw, AnEndlessLineNeedsNoMemoryAndHidesNothingAfterIt) {
  RawParser parser;
  parser.feed(lines({kStart}));
  std::string block(1 << 20, 'x');
  for (int i = 0; i < 64; i++) parser.feed(block);
  parser.feed("\n" + lines({kRace}));
  EXPECT_EQ(parser.logs()[0].damaged, 1u);
  EXPECT_THAT(parser.logs()[0].races, SizeIs(1));
}

TEST(Raw, DeepNestingDoesNotOverflowTheStack) {
  std::string deep(1 << 20, '[');
  RawLog log = only_log(lines({kStart}) + "{\"t\":\"race\",\"accesses\":" + deep + "\n");
  EXPECT_EQ(log.damaged, 1u);
}

TEST(Raw, StacksOfHostileLengthAreCut) {
  std::string stack = "[";
  for (int i = 0; i < 100000; i++) stack += "\"0x10\",";
  stack += "\"0x10\"]";
  RawLog log = only_log("{\"t\":\"thread\",\"id\":5,\"stack\":" + stack + "}\n");
  EXPECT_EQ(log.threads.at(5).stack.size(), 4096u);
}

TEST(Raw, RacesAreHandedOverAsTheyCome) {
  int seen = 0;
  RawParser parser([&](const RawLog& log, const RawRace&) {
    seen++;
    EXPECT_THAT(log.modules, SizeIs(1)) << "what it refers to was read before";
  });
  parser.feed(lines({kStart, kModule, kRace}));
  EXPECT_EQ(seen, 1);
  parser.feed(lines({kRace}));
  EXPECT_EQ(seen, 2);
  EXPECT_THAT(parser.logs()[0].races, SizeIs(0));
}

TEST(Raw, RandomDamageNeverEndsTheReader) {
  std::string text = lines({kStart, kModule, kThread, kRace, kEnd});
  std::mt19937 random(7);
  for (int round = 0; round < 3000; round++) {
    std::string damaged = text;
    for (int i = 0; i < 5; i++) damaged[random() % damaged.size()] = static_cast<char>(random());
    RawParser parser;
    parser.feed(damaged);
    EXPECT_GE(parser.logs().size(), 1u);
  }
}

TEST(Raw, AMissingFileIsAnError) {
  auto logs = read_raw_file("/nonexistent/raw.1");
  ASSERT_FALSE(logs.ok());
  EXPECT_THAT(logs.error().message, HasSubstr("/nonexistent/raw.1: cannot be read"));
}

}  // namespace
}  // namespace deadheat::report
