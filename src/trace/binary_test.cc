#include "trace/binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "testing/generate.h"
#include "testing/trace_builder.h"
#include "trace/format.h"

namespace deadheat {
namespace {

using ::testing::HasSubstr;

// Tests run beside each other, each in a process of its own.
std::string path_for(const std::string& name) {
  return ::testing::TempDir() + std::to_string(getpid()) + "-" + name;
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string encode(const Trace& trace, std::size_t batch = 1000) {
  const std::string path = path_for("encode.dht");
  Result<std::unique_ptr<TraceSink>> sink = create_trace(path);
  EXPECT_TRUE(sink.ok());
  for (std::size_t i = 0; i < trace.events.size(); i += batch) {
    const std::size_t count = std::min(batch, trace.events.size() - i);
    EXPECT_TRUE((*sink)->write(trace.names, std::span(trace.events).subspan(i, count)).ok());
  }
  EXPECT_TRUE((*sink)->close(trace.names).ok());
  std::string bytes = file_bytes(path);
  std::remove(path.c_str());
  return bytes;
}

Result<Trace> decode(std::string bytes) {
  Result<std::unique_ptr<BinarySource>> source = binary_source_of(std::move(bytes), "t.dht");
  if (!source.ok()) return source.error();
  return read_all(**source);
}

// A trace with everything in it.
Trace rich_trace(int events, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  testing::RandomShape shape;
  shape.events = events;
  shape.threads = 5;
  shape.locks = 3;
  shape.locations = 4;
  shape.messages = 2;
  shape.values = 100000;
  shape.forks = true;
  shape.branches = true;
  shape.barrier_pairs = true;
  Trace trace = testing::random_trace(shape, random);
  for (Event& event : trace.events) {
    if (event.has_value && random() % 2) event.value = -event.value;
  }
  return trace;
}

TEST(Binary, EverythingReadsBackAsWritten) {
  for (const int events : {0, 1, 2, 100, 65536, 65537, 200000}) {
    const Trace trace = rich_trace(events, 3);
    Result<Trace> again = decode(encode(trace));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->events, trace.events);
    EXPECT_EQ(testing::to_text(*again), testing::to_text(trace));
    EXPECT_EQ(again->note, "");
  }
}

TEST(Binary, AnyValueReadsBack) {
  Trace trace = testing::build_trace(
      "T|w(x)=0|1 T|w(x)=1|1 T|w(x)=-1|1 T|w(x)=9223372036854775807|1 "
      "T|w(x)=-9223372036854775808|1 T|w(x)|1 T|w(x)=7|1");
  for (Event& event : trace.events) event.line = 0;
  Result<Trace> again = decode(encode(trace));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->events, trace.events);
}

TEST(Binary, NamesThatAppearLaterAreWrittenLater) {
  // The sink sees a growing table, as from a streaming source.
  Trace trace;
  const std::string path = path_for("grow.dht");
  Result<std::unique_ptr<TraceSink>> sink = create_trace(path);
  ASSERT_TRUE(sink.ok());
  for (int i = 0; i < 200000; ++i) {
    Event event;
    event.kind = EventKind::kWrite;
    event.thread = ThreadId(trace.names.threads.intern("T" + std::to_string(i / 1000)));
    event.object = ObjectId(trace.names.locations.intern("x" + std::to_string(i)));
    event.site = SiteId(trace.names.sites.intern(std::to_string(i % 70000)));
    trace.events.push_back(event);
    ASSERT_TRUE((*sink)->write(trace.names, std::span(&event, 1)).ok());
  }
  ASSERT_TRUE((*sink)->close(trace.names).ok());
  Result<Trace> again = read_trace(path);
  std::remove(path.c_str());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->events, trace.events);
  EXPECT_EQ(again->names.locations.name(199999), "x199999");
  EXPECT_EQ(again->names.locations.find("x123456"), 123456u);
}

TEST(Binary, ATruncatedFileIsReadableUpToItsLastCompleteChunkAndSaysSo) {
  const Trace trace = rich_trace(150000, 5);
  const std::string bytes = encode(trace);
  std::mt19937_64 random(1);
  std::set<std::size_t> lengths;
  for (std::size_t cut = 0; cut < 300; ++cut) {
    const std::size_t length = cut < 100   ? cut
                               : cut < 200 ? bytes.size() - (cut - 99)
                                           : random() % bytes.size();
    Result<Trace> again = decode(bytes.substr(0, length));
    if (length < 32) {
      ASSERT_FALSE(again.ok());
      EXPECT_EQ(again.error().message, "t.dht: expected a binary trace, found something else");
      continue;
    }
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_THAT(again->note, HasSubstr("t.dht: cut short at byte "));
    EXPECT_THAT(again->note, HasSubstr("read up to event " + std::to_string(again->events.size())));
    ASSERT_TRUE(std::equal(again->events.begin(), again->events.end(), trace.events.begin()));
    lengths.insert(again->events.size());
  }
  EXPECT_EQ(lengths, (std::set<std::size_t>{0, 65536, 131072, trace.events.size()}));
}

TEST(Binary, EveryFlippedByteIsDetectedOrHarmless) {
  const Trace trace = rich_trace(700, 7);
  const std::string bytes = encode(trace);
  std::size_t detected = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    Result<Trace> again = decode(damaged);
    if (!again.ok() || !again->note.empty()) {
      ++detected;
      continue;
    }
    // The index is not needed for reading from start to end.
    ASSERT_EQ(again->events, trace.events) << "byte " << i;
  }
  EXPECT_GT(detected, bytes.size() * 9 / 10);
}

TEST(Binary, DamageNamesTheByteAndWhatIsReadable) {
  const Trace trace = rich_trace(150000, 5);
  std::string bytes = encode(trace);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  Result<Trace> again = decode(bytes);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message,
              HasSubstr("expected a chunk with the hash in its header, found damaged bytes"));
  EXPECT_THAT(again.error().message, HasSubstr("readable up to event 65536"));
}

TEST(Binary, WithoutCompressionEverythingReadsBackToo) {
  const Trace trace = rich_trace(70000, 6);
  const std::string path = path_for("stored.dht");
  Result<std::unique_ptr<TraceSink>> sink = create_trace(path, {.compression_level = 0});
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->write(trace.names, trace.events).ok());
  ASSERT_TRUE((*sink)->close(trace.names).ok());
  Result<Trace> again = read_trace(path);
  std::remove(path.c_str());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->events, trace.events);
}

TEST(Binary, FilesOfEarlierReleasesStayReadable) {
  Result<Trace> trace = read_trace(std::string(DEADHEAT_STORED_TRACES) + "/version-1.dht");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->note, "");
  Result<Trace> text = read_trace(std::string(DEADHEAT_STORED_TRACES) + "/version-1.std");
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(testing::to_text(*trace), testing::to_text(*text));
}

TEST(Binary, ANewerVersionIsRefusedByNumber) {
  std::string bytes = encode(rich_trace(10, 1));
  bytes[8] = 2;
  const std::uint64_t hash = XXH3_64bits(bytes.data(), 24);
  std::memcpy(bytes.data() + 24, &hash, sizeof(hash));
  EXPECT_EQ(decode(bytes).error().message,
            "t.dht: expected format version 1, found 2: written by a newer deadheat");
}

std::string with_header(std::string bytes, std::size_t offset, char value) {
  bytes[offset] = value;
  const std::uint64_t hash = XXH3_64bits(bytes.data(), 24);
  std::memcpy(bytes.data() + 24, &hash, sizeof(hash));
  return bytes;
}

TEST(Binary, AVersionThatNeverWasIsNotCalledANewerOne) {
  EXPECT_EQ(decode(with_header(encode(rich_trace(10, 1)), 8, 0)).error().message,
            "t.dht: expected format version 1, found 0, which never was one");
}

TEST(Binary, FlagsAndReservedNumbersMustBeZero) {
  const std::string bytes = encode(rich_trace(10, 1));
  EXPECT_EQ(decode(with_header(bytes, 12, 1)).error().message,
            "t.dht: byte 12: expected flags and a reserved number that are 0, found 1 and 0");
  EXPECT_EQ(decode(with_header(bytes, 16, 7)).error().message,
            "t.dht: byte 12: expected flags and a reserved number that are 0, found 0 and 7");
}

TEST(Binary, ANameThatATableHasAlreadyIsRefused) {
  Trace trace = testing::build_trace("T|w(x)|1 T|acq(x)|2");
  EXPECT_TRUE(decode(encode(trace)).ok()) << "a lock and a location of one name are two things";
  trace.names.locations.append("x");
  EXPECT_THAT(decode(encode(trace)).error().message, HasSubstr("expected each name once, found 'x' again"));
}

TEST(Binary, PlacesAndThreadsThatTextCannotSayAreRefused) {
  for (const char* place : {"a\nb:3", "a|b:3", " a:3"}) {
    Trace trace = testing::build_trace("T|w(x)|1");
    trace.names.sites.append(place);
    EXPECT_THAT(decode(encode(trace)).error().message, HasSubstr("expected a name or a set")) << place;
  }
  for (const char* thread : {"#T", "\xEF\xBB\xBFT"}) {
    Trace trace = testing::build_trace("T|w(x)|1");
    trace.names.threads.append(thread);
    EXPECT_THAT(decode(encode(trace)).error().message, HasSubstr("expected a name or a set")) << thread;
  }
}

TEST(Binary, NamesBeginWithAnythingThatTextAllows) {
  Trace trace = testing::build_trace("T|w(#x)|#a.c:1 T|acq(#l)|2 T|snd(#m)|3 T|enter(#f;#x,#y)|4");
  Result<Trace> again = decode(encode(trace));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(testing::to_text(*again), testing::to_text(trace));
}

TEST(Binary, SeekingReadsOnFromAnyEvent) {
  const Trace trace = rich_trace(200000, 9);
  const std::string bytes = encode(trace);
  Result<std::unique_ptr<BinarySource>> source = binary_source_of(bytes, "t.dht");
  // Without its last 40 bytes the file has no trailer.
  Result<std::unique_ptr<BinarySource>> cut = binary_source_of(bytes.substr(0, bytes.size() - 40), "t.dht");
  ASSERT_TRUE(source.ok() && cut.ok());
  EXPECT_EQ((*source)->total_events(), trace.events.size());
  EXPECT_EQ((*cut)->total_events(), std::nullopt);
  std::mt19937_64 random(4);
  std::vector<Event> buffer(3000);
  for (int i = 0; i < 40; ++i) {
    const std::size_t event = i == 0 ? trace.events.size() : random() % trace.events.size();
    BinarySource& from = i % 2 ? **source : **cut;
    Status status = from.seek(EventIndex(event));
    ASSERT_TRUE(status.ok()) << status.error().message;
    Result<std::size_t> got = from.read(buffer);
    ASSERT_TRUE(got.ok()) << got.error().message;
    ASSERT_EQ(*got, std::min<std::size_t>(buffer.size(), trace.events.size() - event));
    ASSERT_TRUE(std::equal(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*got),
                           trace.events.begin() + static_cast<std::ptrdiff_t>(event)));
  }
  Status beyond = (*source)->seek(EventIndex(trace.events.size() + 1));
  ASSERT_FALSE(beyond.ok());
}

TEST(Binary, TheFormatIsFoundByContentNotByName) {
  const std::string path = path_for("misnamed.std");
  std::ofstream(path, std::ios::binary) << encode(rich_trace(10, 1));
  EXPECT_TRUE(read_trace(path).ok());
  std::remove(path.c_str());
  const std::string text = path_for("text.dht");
  std::ofstream(text) << "T0|r(x)|1\n";
  EXPECT_TRUE(read_trace(text).ok());
  for (const std::string& start : {encode(rich_trace(10, 1)).substr(0, 3), std::string()}) {
    std::ofstream(text, std::ios::binary) << start;
    EXPECT_EQ(read_trace(text).error().message, text + ": expected a binary trace, found something else")
        << start.size();
  }
  std::remove(text.c_str());
}

TEST(Binary, AnUnknownSuffixIsAnError) {
  EXPECT_EQ(
      create_trace("x.foo").error().message,
      "x.foo: expected a name that ends in .std (text) or .dht (binary), or - for text on standard output");
}

}  // namespace
}  // namespace deadheat
