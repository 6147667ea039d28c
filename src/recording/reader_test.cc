#include "recording/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "recording/modules.h"
#include "runtime/record_abi.h"
#include "testing/recording_builder.h"

namespace deadheat::recording {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::read_file;
using testing::RecordingBuilder;
using testing::ScratchFolder;
using testing::write_file;

static_assert(kAtomicOperations == kDhAtomicFence + 1);

// One of everything, in two threads.
RecordingBuilder everything() {
  RecordingBuilder builder;
  Encoder& main = builder.thread(0);
  main.value(0, 0xab, 1);
  main.value(14, 0xabcd, 2);
  main.value(15, 0xabcdef01, 4);
  main.value(16 + 127, 0xfedcba9876543210, 8);
  main.value(~std::uint64_t{0}, 1, 8);
  builder.sequencer(0, SequencerKind::kThreadCreated, 0, 1);
  builder.sequencer(1, SequencerKind::kThreadStarted, 0, 0);
  builder.sequencer(0, SequencerKind::kLockAcquired, 0x7fff00000010, (0x401000 << 1) | 1);
  builder.sequencer(0, SequencerKind::kLockReleasing, 0x7ffe00000010);
  const auto compare_exchange = static_cast<SequencerKind>(32 + kDhAtomicCompareExchange);
  builder.sequencer(1, compare_exchange, ~std::uint64_t{0}, 4 | 16 << 4 | 1 << 9);
  main.callback(2, Address(0x401234), std::vector<std::uint64_t>{1, 2, 3});
  main.callback(0, Address(0x401235), {});
  std::vector<std::uint64_t> many(40);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i * 0x0101010101010101;
  main.callback(1, Address(0x401236), many);
  main.unwound(3);
  main.landed(4, 77);
  main.jumped(5, Address(0x7ffd00001000));
  main.access(6, {AccessKind::kWrite, Address(0x1000), 300, Address(0x402000)});
  main.note(7, {NoteKind::kThreadNamed, 1, 0x656d616e, Address(0x403000)});
  builder.end_all();
  return builder;
}

std::vector<Item> items_of(const Reader& reader, ThreadId thread, std::string* error = nullptr) {
  ThreadStream stream = reader.stream(thread);
  std::vector<Item> items;
  Item item;
  while (stream.next(item)) items.push_back(item);
  if (error != nullptr) *error = stream.status().ok() ? "" : stream.status().error().message;
  return items;
}

TEST(Reader, EveryKindOfItemComesBack) {
  // Chunks of every small size: items lie across them in every way.
  for (std::size_t chunk = 1; chunk < 300; chunk = chunk < 40 ? chunk + 1 : chunk + 37) {
    ScratchFolder scratch;
    const std::string folder = scratch / "r";
    everything().write(folder, chunk);
    Result<Reader> reader = Reader::open(folder);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(reader->completeness(), Completeness::kComplete) << reader->note();
    EXPECT_EQ(reader->note(), "");
    EXPECT_EQ(reader->threads(), (std::vector{ThreadId(0), ThreadId(1)}));
    EXPECT_EQ(reader->description().command, (std::vector<std::string>{"./bank", "8"}));
    EXPECT_EQ(reader->ending()->sequencers, 5u);

    ThreadStream stream = reader->stream(ThreadId(0));
    Item item;
    auto next = [&](Tag tag, std::uint64_t predicted) {
      ASSERT_TRUE(stream.next(item)) << stream.position();
      EXPECT_EQ(item.tag, tag);
      EXPECT_EQ(item.predicted, predicted);
    };
    next(Tag::kValue1, 0);
    EXPECT_EQ(item.value, 0xabu);
    next(Tag::kValue2, 14);
    EXPECT_EQ(item.value, 0xabcdu);
    next(Tag::kValue4, 15);
    EXPECT_EQ(item.value, 0xabcdef01u);
    next(Tag::kValue8, 16 + 127);
    EXPECT_EQ(item.value, 0xfedcba9876543210u);
    next(Tag::kValue8, ~std::uint64_t{0});
    next(Tag::kSequencer, 0);
    EXPECT_EQ(item.sequencer.kind, SequencerKind::kThreadCreated);
    EXPECT_EQ(item.sequencer.number, SequencerNumber(0));
    EXPECT_EQ(item.sequencer.other_thread(), ThreadId(1));
    next(Tag::kSequencer, 0);
    EXPECT_EQ(item.sequencer.number, SequencerNumber(2));
    EXPECT_EQ(item.sequencer.object, Address(0x7fff00000010));
    EXPECT_TRUE(item.sequencer.is_shared());
    EXPECT_EQ(item.sequencer.lock_pc(), Address(0x401000));
    next(Tag::kSequencer, 0);
    EXPECT_EQ(item.sequencer.number, SequencerNumber(3));
    EXPECT_EQ(item.sequencer.object, Address(0x7ffe00000010));
    next(Tag::kCallback, 2);
    EXPECT_EQ(item.callback.function, Address(0x401234));
    EXPECT_THAT(item.callback.words, ::testing::ElementsAre(1, 2, 3));
    next(Tag::kCallback, 0);
    EXPECT_TRUE(item.callback.words.empty());
    next(Tag::kCallback, 1);
    ASSERT_EQ(item.callback.words.size(), 40u);
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(item.callback.words[i], i * 0x0101010101010101);
    next(Tag::kUnwound, 3);
    next(Tag::kLanded, 4);
    EXPECT_EQ(item.number, 77u);
    next(Tag::kJumped, 5);
    EXPECT_EQ(item.number, 0x7ffd00001000u);
    next(Tag::kAccess, 6);
    EXPECT_EQ(item.access.kind, AccessKind::kWrite);
    EXPECT_EQ(item.access.size, 300u);
    EXPECT_EQ(item.access.pc, Address(0x402000));
    next(Tag::kNote, 7);
    EXPECT_EQ(item.note.kind, NoteKind::kThreadNamed);
    EXPECT_EQ(item.note.b, 0x656d616eu);
    next(Tag::kEnd, 0);
    EXPECT_EQ(item.end.kind, EndKind::kProcessEnded);
    EXPECT_TRUE(item.end.is_written);
    EXPECT_EQ(stream.offset(), stream.raw_bytes());
    EXPECT_FALSE(stream.next(item));
    EXPECT_FALSE(stream.next(item));
    EXPECT_TRUE(stream.status().ok());

    std::vector<Item> other = items_of(*reader, ThreadId(1));
    ASSERT_EQ(other.size(), 3u);
    EXPECT_EQ(other[1].sequencer.operation(), unsigned{kDhAtomicCompareExchange});
    EXPECT_EQ(other[1].sequencer.order(), 4u);
    EXPECT_EQ(other[1].sequencer.size(), 16u);
    EXPECT_TRUE(other[1].sequencer.succeeded());
    EXPECT_EQ(other[1].sequencer.object, Address(~std::uint64_t{0}));
  }
}

// What a stream gives for random items does not depend on how it was cut into chunks, however long it is.
TEST(Reader, LongStreamsComeBackWhateverTheChunks) {
  std::mt19937_64 random(7);
  RecordingBuilder builder;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (int i = 0; i < 200000; ++i) {
    const unsigned size = 1u << (random() % 4);
    const std::uint64_t value = random() >> (64 - 8 * size);
    const std::uint64_t run = random() % 20 == 0 ? random() % 100000 : random() % 16;
    builder.thread(3).value(run, value, size);
    expected.emplace_back(run, value);
  }
  builder.end_all();
  for (std::size_t chunk : {1000u, kUsualChunkBytes, kMaxChunkBytes}) {
    ScratchFolder scratch;
    builder.write(scratch / "r", chunk);
    Result<Reader> reader = Reader::open(scratch / "r");
    ASSERT_TRUE(reader.ok());
    ThreadStream stream = reader->stream(ThreadId(3));
    Item item;
    for (const auto& [run, value] : expected) {
      ASSERT_TRUE(stream.next(item));
      ASSERT_EQ(item.predicted, run);
      ASSERT_EQ(item.value, value);
    }
    ASSERT_TRUE(stream.next(item));
    EXPECT_EQ(item.tag, Tag::kEnd);
    EXPECT_FALSE(stream.next(item));
  }
}

TEST(Reader, StreamsOutliveTheirReader) {
  ScratchFolder scratch;
  everything().write(scratch / "r");
  std::optional<Result<Reader>> reader(Reader::open(scratch / "r"));
  ThreadStream stream = (*reader)->stream(ThreadId(0));
  reader.reset();
  Item item;
  int count = 0;
  while (stream.next(item)) ++count;
  EXPECT_EQ(count, 17);
  EXPECT_TRUE(stream.status().ok());
}

// However little of the log is there: nothing crashes, every item that comes is one of the original's, in
// order, and every stream ends with an end.
TEST(Reader, TruncationAtEveryByteIsReadUpToThere) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  everything().write(folder, 50);
  const std::string log = read_file(folder + "/log");
  std::map<ThreadId, std::vector<Item>> whole;
  {
    Result<Reader> reader = Reader::open(folder);
    for (ThreadId thread : reader->threads()) whole[thread] = items_of(*reader, thread);
  }
  for (bool with_end : {true, false}) {
    if (!with_end) std::filesystem::remove(folder + "/end.json");
    for (std::size_t size = 0; size < log.size(); ++size) {
      write_file(folder + "/log", log.substr(0, size));
      Result<Reader> reader = Reader::open(folder);
      ASSERT_TRUE(reader.ok()) << size << ": " << reader.error().message;
      EXPECT_EQ(reader->completeness(), with_end ? Completeness::kDamaged : Completeness::kCutShort);
      EXPECT_THAT(reader->note(), HasSubstr(folder));
      EXPECT_THAT(reader->note(), HasSubstr(with_end ? "damaged" : "cut short"));
      for (ThreadId thread : reader->threads()) {
        std::string error;
        std::vector<Item> items = items_of(*reader, thread, &error);
        EXPECT_EQ(error, "");
        ASSERT_FALSE(items.empty());
        EXPECT_EQ(items.back().tag, Tag::kEnd);
        ASSERT_LE(items.size(), whole[thread].size());
        EXPECT_TRUE(!items.back().end.is_written || items.size() == whole[thread].size());
        for (std::size_t i = 0; i + 1 < items.size(); ++i) {
          EXPECT_EQ(items[i].tag, whole[thread][i].tag);
          EXPECT_EQ(items[i].predicted, whole[thread][i].predicted);
        }
      }
    }
  }
}

TEST(Reader, EveryFlippedBitOfTheLogIsNoticed) {
  ScratchFolder scratch;
  everything().write(scratch / "r", 100);
  const std::string log = read_file(scratch / "r/log");
  for (std::size_t bit = 0; bit < log.size() * 8; ++bit) {
    // An earlier version's number says nothing of what follows.
    const bool is_reserved =
        (bit / 8 >= 12 && bit / 8 < 16) || (bit / 8 == 8 && (log[8] ^ 1 << bit % 8) < log[8]);
    std::string changed = log;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    Result<Reader> reader = Reader::of_log(changed, "r/log");
    if (!reader.ok()) {
      EXPECT_LT(bit / 8, 12u) << reader.error().message;
      EXPECT_THAT(reader.error().message,
                  AllOf(HasSubstr("r/log: byte "), HasSubstr("expected"), HasSubstr("found")));
      continue;
    }
    if (is_reserved) continue;
    EXPECT_LT(reader->log_bytes(), log.size()) << bit / 8;
    EXPECT_THAT(reader->note(), HasSubstr("at byte " + std::to_string(reader->log_bytes())));
    for (ThreadId thread : reader->threads()) {
      std::string error;
      items_of(*reader, thread, &error);
      EXPECT_EQ(error, "") << "what is readable is whole";
    }
  }
}

TEST(Reader, ALogThatChangesWhileItIsReadIsAnError) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  everything().write(folder, 100);
  Result<Reader> reader = Reader::open(folder);
  std::string log = read_file(folder + "/log");
  for (char& byte : log) byte = static_cast<char>(byte ^ 1);
  write_file(folder + "/log", log);
  std::string error;
  EXPECT_TRUE(items_of(*reader, ThreadId(0), &error).empty());
  EXPECT_THAT(error, AllOf(HasSubstr(folder + "/log: byte 16"), HasSubstr("expected"), HasSubstr("found")));
}

TEST(Reader, CodedSequencersComeBackAsTheyWere) {
  std::mt19937_64 random(7);
  RecordingBuilder builder;
  std::vector<Sequencer> written;
  std::uint64_t number = 0;
  for (int i = 0; i < 20'000; ++i) {
    Sequencer sequencer{};
    constexpr SequencerKind kKinds[] = {SequencerKind::kLockAcquired, SequencerKind::kLockReleasing,
                                        SequencerKind::kAllocated, SequencerKind::kThreadFinishing,
                                        SequencerKind::kAtomic};
    // Often as before, so that predictions are right, and now and then anything.
    sequencer.kind = kKinds[random() % 3 == 0 ? random() % 5 : i % 4];
    sequencer.object = Address(random() % 9 == 0 ? random() : 0x1000 + i / 4 % 5 * 8);
    sequencer.extra = random() % 16 == 0 ? random() : 3;
    number += random() % 32 == 0 ? random() >> 24 : random() % 20;
    sequencer.number = SequencerNumber(number++);
    if (random() % 2 == 0) {
      sequencer.hash_bits = sequencer.kind == SequencerKind::kThreadFinishing ? 64 : 8;
      sequencer.hash = random() >> (64 - sequencer.hash_bits);
    }
    if (random() % 50 == 0) {
      sequencer.hash_bits = 16;
      sequencer.hash &= 0xffff;
      builder.thread(0).sequencer(i % 20, sequencer);
    } else {
      sequencer.reads_object = random() % 3 == 0;
      builder.thread(0).coded_sequencer(i % 20, sequencer);
    }
    written.push_back(sequencer);
  }
  builder.end_all();
  ScratchFolder scratch;
  builder.write(scratch / "r.dh", 1000);
  Result<Reader> reader = Reader::open(scratch / "r.dh");
  ASSERT_TRUE(reader.ok());
  std::string error;
  const std::vector<Item> items = items_of(*reader, ThreadId(0), &error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(items.size(), written.size() + 1);
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Sequencer& found = items[i].sequencer;
    ASSERT_EQ(items[i].tag, Tag::kSequencer);
    ASSERT_EQ(items[i].predicted, i % 20);
    ASSERT_EQ(found.kind, written[i].kind);
    ASSERT_EQ(found.number, written[i].number);
    ASSERT_EQ(found.object, written[i].object);
    ASSERT_EQ(found.extra, written[i].extra);
    ASSERT_EQ(found.hash_bits, written[i].hash_bits);
    ASSERT_EQ(found.hash, written[i].hash);
    ASSERT_EQ(found.reads_object, written[i].reads_object);
  }
}

TEST(Reader, WhatIsExpectedOfALoopTakesTwoBytes) {
  Encoder encoder;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Sequencer sequencer{};
    sequencer.kind = i % 2 == 0 ? SequencerKind::kLockAcquired : SequencerKind::kLockReleasing;
    sequencer.object = Address(0x7fff00001000 + i / 2 % 2 * 48);
    sequencer.number = SequencerNumber(2 * i);
    encoder.coded_sequencer(0, sequencer);
  }
  EXPECT_LT(encoder.bytes().size(), 2 * 1000 + 100u);
}

TEST(Reader, AnEarlierVersionHasNoCodedSequencers) {
  RecordingBuilder builder;
  builder.thread(0).coded_sequencer(0, Sequencer{});
  builder.end_all();
  ScratchFolder scratch;
  builder.write(scratch / "r.dh");
  std::string log = read_file(scratch / "r.dh/log");
  EXPECT_EQ(items_of(*Reader::of_log(log, "r/log"), ThreadId(0)).size(), 2u);
  log[8] = 1;
  std::string error;
  EXPECT_TRUE(items_of(*Reader::of_log(log, "r/log"), ThreadId(0), &error).empty());
  EXPECT_THAT(error, HasSubstr("expected an item's tag, found 13"));
  log[8] = kVersion + 1;
  EXPECT_FALSE(Reader::of_log(log, "r/log").ok());
}

TEST(Reader, VersionTwoHasNoSequencersThatReadTheirObject) {
  RecordingBuilder builder;
  // Enough of them that they are decoded by the quick way, too.
  Sequencer sequencer{};
  for (std::uint64_t i = 0; i < 300; ++i) {
    sequencer.number = SequencerNumber(i);
    sequencer.reads_object = i == 3;
    builder.thread(0).coded_sequencer(0, sequencer);
  }
  builder.end_all();
  ScratchFolder scratch;
  builder.write(scratch / "r.dh");
  std::string log = read_file(scratch / "r.dh/log");
  EXPECT_EQ(items_of(*Reader::of_log(log, "r/log"), ThreadId(0)).size(), 301u);
  log[8] = 2;
  std::string error;
  EXPECT_EQ(items_of(*Reader::of_log(log, "r/log"), ThreadId(0), &error).size(), 3u);
  EXPECT_THAT(error, HasSubstr("expected an item's tag, found 14"));
}

// Streams that no writer wrote.
struct BadStream {
  const char* name;
  std::string bytes;
  std::string message;
};

TEST(Reader, ItemsThatCannotBeAreRefusedWithTheirPosition) {
  auto bytes = [](std::initializer_list<int> list) {
    std::string text;
    for (int byte : list) text.push_back(static_cast<char>(byte));
    return text;
  };
  const std::string many(12, '\xff');
  const BadStream kStreams[] = {
      {"tag 15", bytes({15}), "expected an item's tag, found 15"},
      {"coded sequencer of kind 22", bytes({13, 0, 22, 0, 0}), "expected a kind of sequencer, found 22"},
      {"coded sequencer with a long number", bytes({13, 0xf0}) + many + many + many,
       "expected numbers of 64 bits"},
      {"coded sequencer above 64 bits",
       bytes({13, 0xf0}) + std::string(9, '\xff') + bytes({0, 0, 0, 0, 13, 0xf0}) + std::string(9, '\xff') +
           bytes({0, 0, 0, 0}),
       "expected a sequencer's number above 9223372036854775822, found "},
      {"more words of nothing", bytes({12, 1}), "expected an item's tag, found 12"},
      {"a long varint", bytes({7}) + many, "expected numbers of 64 bits"},
      {"a long run", bytes({0xf0}) + many, "expected numbers of 64 bits"},
      {"a run above 64 bits", bytes({0xf0}) + std::string(9, '\xff') + "\x01" + "x",
       "expected numbers of 64 bits"},
      {"sequencer of kind 22", bytes({4, 22, 0, 0, 0, 0, 0, 0, 0}), "expected a kind of sequencer, found 22"},
      {"sequencer of kind 47", bytes({4, 47, 0, 0, 0, 0, 0, 0, 0}), "expected a kind of sequencer, found 47"},
      {"same number twice", bytes({4, 0, 5, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0}),
       "expected a sequencer's number above 5, found 5"},
      {"a number above 64 bits",
       bytes({4, 0}) + std::string(9, '\xff') + bytes({1, 0, 0, 0, 0, 4, 0, 2, 0, 0, 0, 0}),
       "expected a sequencer's number above 18446744073709551615, found 1"},
      {"access of kind 2", bytes({9, 2, 0, 0, 0}), "expected a read (0) or a write (1), found 2"},
      {"note of kind 5", bytes({10, 5, 0, 0, 0}), "expected a kind of note, found 5"},
      {"end of kind 4", bytes({11, 4, 0}), "expected a kind of end, found 4"},
      {"something behind the end", bytes({11, 0, 0, 6}), "expected the stream's end behind an end item"},
      {"a million words", bytes({5, 0, 0xff, 0xff, 0x7f}), "expected a call-back with at most 65536 words"},
      {"no more words", bytes({5, 0, 17}) + std::string(128, 'w') + bytes({6}),
       "expected 1 more words of a call-back"},
      {"too many more words",
       bytes({5, 0, 17}) + std::string(128, 'w') + bytes({12, 2}) + std::string(16, 'w'),
       "expected 1 to 1 further words, found 2"},
  };
  for (const BadStream& bad : kStreams) {
    ScratchFolder scratch;
    auto log = LogWriter::create(scratch / "log", 1);
    ASSERT_TRUE((*log)->append(ThreadId(5), 0, bad.bytes).ok());
    Result<Reader> reader = Reader::of_log(read_file(scratch / "log"), "r/log");
    ASSERT_TRUE(reader.ok());
    std::string error;
    items_of(*reader, ThreadId(5), &error);
    EXPECT_THAT(error, AllOf(HasSubstr("r/log: thread 5, byte "), HasSubstr("(chunk at byte 16 of r/log)"),
                             HasSubstr(bad.message)))
        << bad.name;
  }
}

TEST(Reader, AGapInAStreamEndsTheRecordingThere) {
  ScratchFolder scratch;
  auto log = LogWriter::create(scratch / "log", 1);
  const std::string unwound = "\x06";
  ASSERT_TRUE((*log)->append(ThreadId(0), 0, unwound).ok());
  const std::uint64_t good = (*log)->bytes();
  ASSERT_TRUE((*log)->append(ThreadId(0), 2, unwound).ok());
  ASSERT_TRUE((*log)->append(ThreadId(1), 0, unwound).ok());
  Result<Reader> reader = Reader::of_log(read_file(scratch / "log"), "r/log");
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->completeness(), Completeness::kDamaged);
  EXPECT_EQ(reader->note(), "r/log: damaged at byte " + std::to_string(good) +
                                ": expected byte 1 of thread 0's stream, found byte 2");
  EXPECT_EQ(reader->threads().size(), 1u) << "for every thread";
  EXPECT_EQ(items_of(*reader, ThreadId(0)).size(), 2u);
}

// Found by fuzzing: a long rest behind the end was read on as values.
TEST(Reader, NothingComesBehindAnEndOrAnError) {
  for (const std::string& start : {std::string("\x0b\0\0", 3), std::string("\x0f")}) {
    ScratchFolder scratch;
    auto log = LogWriter::create(scratch / "log", 1);
    ASSERT_TRUE((*log)->append(ThreadId(0), 0, start + std::string(1000, '\0')).ok());
    Result<Reader> reader = Reader::of_log(read_file(scratch / "log"), "r/log");
    ThreadStream stream = reader->stream(ThreadId(0));
    Item item;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(stream.next(item));
    EXPECT_FALSE(stream.status().ok());
  }
}

TEST(Reader, TheFirstOfTwoEndsCounts) {
  RecordingBuilder builder;
  builder.thread(0).end(3, EndKind::kThreadEnded, 0);
  builder.thread(0).end(200, EndKind::kCutOff, 9);
  for (std::size_t chunk : {1, 3, 100}) {
    ScratchFolder scratch;
    builder.write(scratch / "r", chunk);
    Result<Reader> reader = Reader::open(scratch / "r");
    std::string error;
    std::vector<Item> items = items_of(*reader, ThreadId(0), &error);
    EXPECT_EQ(error, "");
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].end.kind, EndKind::kThreadEnded);
  }
}

TEST(Reader, FoldersThatAreNoRecordingAreRefused) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  auto message = [&] {
    Result<Reader> reader = Reader::open(folder);
    return reader.ok() ? std::string("ok") : reader.error().message;
  };
  EXPECT_THAT(message(), HasSubstr("No such file"));
  write_file(folder, "");
  EXPECT_THAT(message(), HasSubstr("expected a recording (a folder), found a file"));
  std::filesystem::remove(folder);
  std::filesystem::create_directory(folder);
  EXPECT_THAT(message(), HasSubstr("not a recording: expected recording.json in it"));
  std::filesystem::remove(folder);
  everything().write(folder);
  EXPECT_EQ(message(), "ok");

  const std::string description = read_file(folder + "/recording.json");
  auto with_description = [&](const std::string& text) {
    write_file(folder + "/recording.json", text);
    return message();
  };
  EXPECT_THAT(with_description(""), HasSubstr("recording.json: expected JSON"));
  EXPECT_THAT(with_description("[]"), HasSubstr("expected a JSON object, found array"));
  EXPECT_THAT(with_description("{}"), HasSubstr("expected a member \"format\", found none"));
  EXPECT_THAT(with_description(R"({"format": 5})"),
              HasSubstr("expected format version 4, found 5: written by a newer"));
  EXPECT_THAT(with_description(R"({"format": "1"})"),
              HasSubstr("expected an integer as \"format\", found \"1\""));
  EXPECT_THAT(with_description(R"({"format": 1, "command": [1]})"),
              HasSubstr("expected an array of strings"));
  EXPECT_THAT(with_description(R"({"format": 1, "pid": 99999999999})"),
              HasSubstr("expected an integer as \"pid\""));
  EXPECT_EQ(with_description(R"({"format": 1, "unknown": {}})"), "ok");
  EXPECT_EQ(with_description(description), "ok");

  const std::string end = read_file(folder + "/end.json");
  write_file(folder + "/end.json", R"({"format": 1, "reason": "bored"})");
  EXPECT_THAT(message(), HasSubstr("\"disk full\" or \"writer gone\" as \"reason\", found \"bored\""));
  write_file(folder + "/end.json", end);

  std::string log = read_file(folder + "/log");
  log[8] = 9;
  write_file(folder + "/log", log);
  EXPECT_THAT(message(), HasSubstr("log: byte 8: expected format version 4, found 9"));
  write_file(folder + "/log", "#!/bin/sh");
  EXPECT_THAT(message(), HasSubstr("log: byte 0: expected the log of a recording"));
  std::filesystem::remove(folder + "/log");
  EXPECT_THAT(message(), HasSubstr("log: missing"));
}

TEST(Reader, WhatMayNotBeReadIsAnError) {
  ScratchFolder scratch;
  everything().write(scratch / "r");
  chmod(scratch.path().c_str(), 0755);
  chmod((scratch / "r/log").c_str(), 0);
  const uid_t user = geteuid();
  if (user == 0) ASSERT_EQ(seteuid(65534), 0);  // root may read everything
  Result<Reader> reader = Reader::open(scratch / "r");
  if (user == 0) ASSERT_EQ(seteuid(0), 0);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("r/log: cannot open: Permission denied"));
}

TEST(Modules, MapsAreReadInTheOrderOfLoading) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  everything().write(folder);
  const std::string bitcode = "BC\xc0\xde and so on";
  const ModuleId id(0x0123456789abcdef);
  write_file(folder + "/modules/0123456789abcdef.bc", bitcode);
  for (int i = 0; i < 12; ++i) {
    write_file(folder + "/modules/" + std::to_string(i) + ".map",
               "module 0123456789abcdef 3\nglobals 1000 0x2000\nglobals ffffffffffffffff\nfunction "
               "0123456789abcdef 7 " +
                   std::to_string(4000 + i) + "\n");
  }
  Result<Reader> reader = Reader::open(folder);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_EQ(reader->modules().size(), 12u);
  EXPECT_EQ(reader->distinct_modules().size(), 1u);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const ModuleLoading& loading = reader->modules()[i];
    EXPECT_EQ(loading.number, i);
    ASSERT_EQ(loading.modules.size(), 1u);
    EXPECT_EQ(loading.modules[0].id, id);
    EXPECT_THAT(loading.modules[0].globals,
                ::testing::ElementsAre(Address(0x1000), Address(0x2000), Address(~std::uint64_t{0})));
    ASSERT_EQ(loading.functions.size(), 1u);
    EXPECT_EQ(loading.functions[0].index, 7u);
    EXPECT_EQ(loading.functions[0].address.value(), 0x4000u + (i < 10 ? i : i + 6));
  }
  Result<std::string> bytes = read_bitcode(reader->modules()[0].modules[0]);
  ASSERT_FALSE(bytes.ok());
  EXPECT_THAT(bytes.error().message,
              HasSubstr("damaged: expected bitcode with the hash 0123456789abcdef, found"));
}

TEST(Modules, AMapThatIsMissingIsNamed) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  everything().write(folder);
  for (int i : {0, 2}) write_file(folder + "/modules/" + std::to_string(i) + ".map", "");
  Result<Reader> reader = Reader::open(folder);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message,
              HasSubstr("/modules/1.map: missing: expected the modules of all loadings, found 2.map"));
}

TEST(Modules, BadMapsAreRefusedWithTheirLine) {
  ScratchFolder scratch;
  const std::string folder = scratch / "r";
  everything().write(folder);
  write_file(folder + "/modules/0123456789abcdef.bc", "");
  const std::pair<const char*, const char*> kMaps[] = {
      {"modul 1\n", "line 1: expected \"module\", \"globals\" or \"function\", found \"modul\""},
      {"module 12 0\n", "line 1: expected a module's id of 16 hex digits, found \"12\""},
      {"module 0123456789abcdef\n", "line 1: expected a number of globals"},
      {"module 0123456789abcdef 0", "line 1: expected a whole line"},
      {"globals 1\n", "line 1: expected \"module\" before"},
      {"module 0123456789abcdef 1\nglobals 1 2\n", "line 2: expected 1 globals, found more"},
      {"module 0123456789abcdef 2\nglobals 1\n", "expected 2 globals of module 0123456789abcdef, found 1"},
      {"module 0123456789abcdef 2\nmodule 0123456789abcdef 0\n", "line 2: expected 2 globals"},
      {"module 0123456789abcdef 1\nglobals x\n", "line 2: expected an address in hex, found \"x\""},
      {"function 0123456789abcdef 1\n", "line 1: expected an address in hex"},
      {"module fedcba9876543210 0\n", "fedcba9876543210.bc: missing"},
  };
  for (const auto& [text, message] : kMaps) {
    write_file(folder + "/modules/0.map", text);
    Result<Reader> reader = Reader::open(folder);
    ASSERT_FALSE(reader.ok()) << text;
    EXPECT_THAT(reader.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace deadheat::recording
