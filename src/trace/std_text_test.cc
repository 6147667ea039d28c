#include "trace/std_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "testing/trace_builder.h"
#include "trace/std_parser.h"

namespace deadheat {
namespace {

using ::testing::HasSubstr;

Result<Trace> read_text(std::string text) {
  std::unique_ptr<TraceSource> source = std_source_of(std::move(text), "t.std");
  return read_all(*source);
}

std::string error_of(std::string text) {
  Result<Trace> trace = read_text(std::move(text));
  return trace.ok() ? "no error" : trace.error().message;
}

TEST(StdText, EveryOperationReadsBackAsWritten) {
  const std::string text =
      "T0|begin|1\nT0|fork(T1)|a.cc:12\nT0|acq(m)|2\nT0|w(x)=-5|3\nT0|rel(m)|4\nT1|r(x)=7|5\nT1|branch|6\n"
      "T1|snd(q)|7\nT0|rcv(q)|8\nT0|enter(f;x,y)|9\nT0|leave(f)|10\nT0|enter(g)|11\nT0|leave(g)|-1\nT1|end|"
      "12\n"
      "T0|join(T1)|13\nT0|r(a[3].b(int, int)::c)|14\n";
  Result<Trace> trace = read_text(text);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(testing::to_text(*trace), text);
}

TEST(StdText, BlankLinesCommentsSpacesAndCarriageReturnsAreSkipped) {
  Result<Trace> trace = read_text("# a comment\r\n\r\n  T0 | r( x ) | 3 \r\n\n");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(testing::to_text(*trace), "T0|r(x)|3\n");
  EXPECT_EQ(trace->events[0].line, 3u);
}

TEST(StdText, NamesHoldNothingThatATerminalObeys) {
  // Control characters of both ranges, bare or as UTF-8; marks of direction; a line's end.
  for (const char* bad :
       {"\x1b", "\xc2\x9b", "\x9b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8", "\xd8\x9c"}) {
    EXPECT_FALSE(is_name(std::string("x") + bad + "y"));
    EXPECT_THAT(error_of("T0|w(x" + std::string(bad) + ")|1\n"), HasSubstr("found 'x\\x"));
  }
  for (const char* good : {"\xc3\x9b", "\xe6\x95\xb0", "\xf0\x9f\x9b\x91", "\xe2\x80\x93", "\xc2\xa0"})
    EXPECT_TRUE(is_name(std::string("x") + good + "y"));
}

TEST(StdText, ThreadsCountInOrderOfFirstMention) {
  Result<Trace> trace = read_text("main|fork(b)|1\nmain|fork(a)|1\na|r(x)|1\nb|r(x)|1\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->events[2].thread, ThreadId(2));
  EXPECT_EQ(trace->events[3].thread, ThreadId(1));
}

TEST(StdText, LocationsAndLocksOfOneNameAreDifferentObjects) {
  Result<Trace> trace = read_text("T|acq(a)|1\nT|w(b)|1\nT|w(a)|1\nT|rel(a)|1\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->events[0].object, ObjectId(0));
  EXPECT_EQ(trace->events[2].object, ObjectId(1));
}

TEST(StdText, ReachableSetsAreSharedBetweenCalls) {
  Result<Trace> trace = read_text("T|enter(f;x,y)|1\nT|leave(f)|1\nT|enter(g;y,x,y)|1\nT|leave(g)|1\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->events[0].value, trace->events[2].value);
  EXPECT_EQ(trace->names.reachable.size(), 1u);
  EXPECT_EQ(trace->names.reachable.at(0).size(), 2u);
}

TEST(StdText, ErrorsNameFileLineExpectedAndFound) {
  EXPECT_EQ(error_of("T0|r(x)|1\nT0 r(x) 1\n"),
            "t.std:2: expected thread|operation|place, found 'T0 r(x) 1'");
  EXPECT_EQ(error_of("T0|r(x)\n"), "t.std:1: expected '|' and a place after the operation, found 'r(x)'");
  EXPECT_EQ(error_of("T0|r(x)|\n"), "t.std:1: expected a place, an integer or file:line, found nothing");
  EXPECT_EQ(error_of("T0|r(x)|abc\n"), "t.std:1: expected a place, an integer or file:line, found 'abc'");
  EXPECT_EQ(error_of("|r(x)|1\n"), "t.std:1: expected a thread, found nothing");
  EXPECT_THAT(error_of("T0|read(x)|1\n"), HasSubstr("t.std:1: expected r, w, acq"));
  EXPECT_EQ(error_of("T0|r x|1\n"), "t.std:1: expected '(' after r, found ' x'");
  EXPECT_EQ(error_of("T0|r(x|1\n"), "t.std:1: expected a closing ')' for r(, found 'x'");
  EXPECT_EQ(error_of("T0|r((x)|1\n"), "t.std:1: expected a closing ')' for r(, found '(x)'");
  EXPECT_EQ(error_of("T0|r(x))|1\n"), "t.std:1: expected '=' or '|' after ')', found ')'");
  EXPECT_EQ(error_of("T0|acq(x)=4|1\n"), "t.std:1: expected '|' after ')', found '=4'");
  EXPECT_EQ(error_of("T0|r()|1\n"), "t.std:1: expected a name in r(), found nothing");
  EXPECT_EQ(error_of("T0|r(x)=|1\n"), "t.std:1: expected an integer after '=', found nothing");
  EXPECT_EQ(error_of("T0|r(x)=5y|1\n"), "t.std:1: expected an integer after '=', found '5y'");
  EXPECT_EQ(error_of("T0|r(x)=9223372036854775808|1\n"),
            "t.std:1: expected a value that fits 64 bits, found '9223372036854775808'");
  EXPECT_EQ(error_of("T0|r(x,y)|1\n"), "t.std:1: expected one name in r(), found 'x,y'");
  EXPECT_EQ(error_of("T0|enter(f,x)|1\n"), "t.std:1: expected ';' after the function's name, found ',x'");
  EXPECT_EQ(error_of("T0|enter(f;x,)|1\n"), "t.std:1: expected a location after ',', found nothing");
  EXPECT_EQ(error_of("T0|enter(f;x;y)|1\n"), "t.std:1: expected ',' or ')' after a location, found ';y'");
  EXPECT_EQ(error_of("T0|begin(x)|1\n"), "t.std:1: expected '|' after begin, found '(x)'");
  EXPECT_EQ(error_of("T0|r(x)|1|2\n"),
            "t.std:1: expected three fields, thread|operation|place, found 'T0|r(x)|1|2'");
  EXPECT_EQ(error_of(std::string("T0|r(x\0y)|1\n", 12)),
            "t.std:1: expected a name in r() without control characters, found 'x\\x00y'");
}

TEST(StdText, AnEndlessLineIsRefusedInBoundedMemory) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "-endless.std";
  {
    std::ofstream out(path);
    out << "T0|r(x)|1\nT0|enter(f;";
    const std::string piece(1 << 20, 'a');
    for (int i = 0; i < 40; ++i) out << piece;
  }
  Result<Trace> trace = read_trace(path);
  std::remove(path.c_str());
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.error().message,
            path + ":2: expected a line of at most 16777216 bytes, found a longer one");
}

TEST(StdText, AMillionLocationsInOneLineAreRead) {
  std::string text = "T0|enter(f;x0";
  for (int i = 1; i < 1000000; ++i) text += ",x" + std::to_string(i);
  text += ")|1\nT0|leave(f)|1\n";
  Result<Trace> trace = read_text(text);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->names.reachable.at(0).size(), 1000000u);
}

TEST(StdText, DeepParenthesesDoNotRecurse) {
  EXPECT_EQ(error_of("T0|r(" + std::string(60000, '(') + "|1\n").substr(0, 49),
            "t.std:1: expected a closing ')' for r(, found '((");
  const std::string deep = std::string(30000, '(') + std::string(30000, ')');
  EXPECT_TRUE(read_text("T0|r(" + deep + ")|1\n").ok());
}

TEST(StdText, LinesLongerThanTheBufferAreRead) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "-long.std";
  {
    std::ofstream out(path);
    for (int i = 0; i < 3; ++i) {
      out << "T0|enter(f;y";
      for (int j = 0; j < 300000; ++j) out << ",x" << j;
      out << ")|7\nT0|leave(f)|8\n";
    }
    out << "T0|r(x1)|9";
  }
  Result<Trace> trace = read_trace(path);
  std::remove(path.c_str());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->events.size(), 7u);
  EXPECT_EQ(trace->names.reachable.size(), 1u);
  EXPECT_EQ(trace->names.locations.size(), 300001u);
}

TEST(StdText, NamesInAllAreLimited) {
  Names names;
  StdParser parser(names, 100);
  Event event;
  EXPECT_TRUE(parser.parse("T|w(" + std::string(90, 'x') + ")|1", 1, event).ok());
  const Result<bool> more = parser.parse("T|w(" + std::string(10, 'y') + ")|1", 2, event);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().message,
            "expected at most 100 bytes of names and of sets of locations in a trace, found more");
  Names others;
  StdParser sets(others, 100);
  EXPECT_TRUE(sets.parse("T|enter(f;a,b,c)|1", 1, event).ok());
  EXPECT_FALSE(sets.parse("T|enter(f;a,b,c,d,e,f,g,h,i)|1", 2, event).ok());
}

TEST(StdText, NamesInParenthesesMayBeginWithAHashThreadsMayNot) {
  EXPECT_EQ(error_of("T0|w(#x)|1\nT0|acq(#l)|#a.c:2\n"), "no error");
  EXPECT_EQ(
      error_of("T0|fork(#T1)|1\n"),
      "t.std:1: expected a thread, a word with balanced parentheses that does not begin with '#', found "
      "'#T1'");
}

TEST(StdText, AnOperationOfACallThatReachesMuchIsCut) {
  const Trace trace = testing::build_trace("T0|enter(f;x,y,z)|1 T0|r(x)=-5|2 T0|branch|3");
  EXPECT_EQ(to_std_operation(trace.names, trace.events[0], 3), "enter(f;x,y,z)");
  EXPECT_EQ(to_std_operation(trace.names, trace.events[0], 2), "enter(f;x,y,...)");
  EXPECT_EQ(to_std_operation(trace.names, trace.events[1], 2), "r(x)=-5");
  EXPECT_EQ(to_std_operation(trace.names, trace.events[2], 2), "branch");
}

TEST(StdText, PlainTextLeavesOutWhatItCannotSayAndCountsIt) {
  Trace trace = testing::build_trace("T0|w(x)=5|1 T0|branch|2 T0|snd(m)|3 T0|r(x)=5|4");
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "-plain.std";
  Result<std::unique_ptr<TraceSink>> sink = create_trace(path);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(trace.names, trace.events).ok());
  ASSERT_TRUE((*sink)->close(trace.names).ok());
  EXPECT_EQ((*sink)->left_out(), 2u);
  Result<Trace> again = read_trace(path);
  std::remove(path.c_str());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(testing::to_text(*again), "T0|w(x)|1\nT0|r(x)|4\n");
}

TEST(StdText, AFileAppearsOnlyWhenItIsComplete) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "-half.std";
  Trace trace = testing::build_trace("T0|w(x)|1");
  {
    Result<std::unique_ptr<TraceSink>> sink = create_trace(path);
    ASSERT_TRUE(sink.ok());
    ASSERT_TRUE((*sink)->write(trace.names, trace.events).ok());
  }
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(StdText, AMissingFileAndAFolderAreErrors) {
  EXPECT_EQ(read_trace("/no/such/file.std").error().message,
            "/no/such/file.std: cannot open: No such file or directory");
  EXPECT_EQ(read_trace(::testing::TempDir()).error().message,
            ::testing::TempDir() + ": expected a file, found a folder");
}

}  // namespace
}  // namespace deadheat
