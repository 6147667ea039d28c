// Made-up recordings of made-up programs, for tests of what replays do.
//
//   program(R"(define void @f(ptr %p) { ... })");
//   call(0, 0, {0x1000});              thread 0 calls back function 0 with this argument
//   thread(0).value(0, 41, 4);         the first value it asks for is in the log
//   sequencer(0, 0, mix({{0x1004, 42}}));
//   thread(0).end(0, EndKind::kProcessEnded, 0);
//   expect_verified(replay(), 1);
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <filesystem>
#include <functional>

#include "replay/module_code.h"
#include "replay/world.h"
#include "testing/recording_builder.h"

namespace deadheat::replay {

using recording::Encoder;
using recording::EndKind;
using recording::SequencerKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inline constexpr std::uint64_t kFunctions = 0x401000;  // function i is at kFunctions + 16 * i
inline constexpr std::uint64_t kGlobals = 0x601000;    // global i is at kGlobals + 16 * i

inline constexpr char kHeader[] = R"(
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"
)";

// A recording of a made-up run of a made-up program.
class WorldTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", scratch_.path().c_str(), 1); }

  void program(const std::string& ir) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    auto module = llvm::parseAssemblyString(kHeader + ir, problem, context);
    ASSERT_NE(module, nullptr) << problem.getMessage().str() << " in line " << problem.getLineNo();
    ModulePlan::prepare(*module);
    {
      llvm::raw_string_ostream stream(bitcode_);
      llvm::WriteBitcodeToFile(*module, stream);
    }
    id_ =
        llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bitcode_.data()), bitcode_.size()));
    const ModulePlan plan(*module);
    map_ = fmt("module %016lx %zu\nglobals", id_, plan.globals().size());
    for (std::size_t i = 0; i < plan.globals().size(); ++i) {
      std::uint64_t address = kGlobals + 16 * i;
      // A function is where it is.
      for (std::size_t f = 0; f < plan.functions().size(); ++f)
        if (plan.functions()[f].function == plan.globals()[i]) address = kFunctions + 16 * f;
      map_ += fmt(" %lx", address);
    }
    map_ += "\n";
    for (std::size_t i = 0; i < plan.functions().size(); ++i)
      map_ += fmt("function %016lx %zu %lx\n", id_, i, kFunctions + 16 * i);
    pseudo_ = DH_OPAQUE_BASE + ((id_ & 0xffffffff) << 20);
  }

  template <class... Values>
  static std::string fmt(const char* format, Values... values) {
    char text[200];
    std::snprintf(text, sizeof text, format, values...);
    return text;
  }

  static Address function(std::size_t index) { return Address(kFunctions + 16 * index); }

  Encoder& thread(std::uint32_t number) { return builder_.thread(number); }
  void call(std::uint32_t number, std::size_t index, std::vector<std::uint64_t> words = {},
            std::uint64_t predicted = 0) {
    thread(number).callback(predicted, function(index), words);
  }
  // A sequencer after the stores that `hash` is of.
  void sequencer(std::uint32_t number, std::uint64_t predicted, std::uint64_t hash,
                 SequencerKind kind = SequencerKind::kRelease, std::uint64_t extra = 0) {
    recording::Sequencer happened{};
    happened.kind = kind;
    happened.number = recording::SequencerNumber(next_number_++);
    happened.object = Address(0x5000);
    happened.hash = dh_record_digest(hash);
    happened.extra = extra;
    thread(number).sequencer(predicted, happened);
  }

  Result<Summary> replay(Variant variant = Variant::kBare, std::vector<Observer*> observers = {},
                         RunOptions options = {}, const std::function<void()>& before = {}) {
    const std::string folder = scratch_ / "r.dh";
    std::filesystem::remove_all(folder);
    builder_.write(folder);
    std::filesystem::create_directories(folder + "/modules");
    testing::write_file(folder + "/modules/" + fmt("%016lx", id_) + ".bc", bitcode_);
    testing::write_file(folder + "/modules/0.map", map_);
    reader_ = std::make_unique<Result<recording::Reader>>(recording::Reader::open(folder));
    if (!reader_->ok()) return reader_->error();
    Result<std::unique_ptr<World>> world = World::open(**reader_, variant);
    if (!world) return world.error();
    world_ = std::move(*world);
    for (Observer* observer : observers) world_->add(*observer);
    if (before) before();
    return world_->run(options);
  }
  void expect_verified(Result<Summary> summary, std::uint64_t regions) {
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    ASSERT_FALSE(summary->divergence) << summary->divergence->what;
    std::uint64_t verified = 0;
    for (const ThreadSummary& thread : summary->threads) {
      EXPECT_EQ(thread.outcome, Outcome::kEnded);
      verified += thread.regions;
    }
    EXPECT_EQ(verified, regions);
  }
  void expect_divergence(Result<Summary> summary, const std::string& what) {
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    ASSERT_TRUE(summary->divergence);
    EXPECT_THAT(summary->divergence->what, HasSubstr(what));
  }

  testing::ScratchFolder scratch_;
  testing::RecordingBuilder builder_;
  std::string bitcode_;
  std::string map_;
  std::uint64_t id_ = 0;
  std::uint64_t pseudo_ = 0;
  std::uint64_t next_number_ = 0;
  std::unique_ptr<Result<recording::Reader>> reader_;
  std::unique_ptr<World> world_;
};

inline std::uint64_t mix(std::vector<std::pair<std::uint64_t, std::uint64_t>> stores) {
  std::uint64_t hash = 0;
  for (const auto& [address, value] : stores) hash = dh_record_mix(hash, address, value);
  return hash;
}

}  // namespace deadheat::replay
