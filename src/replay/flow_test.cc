// Data-flow labels, construct by construct: two reads are followed, `a` at 0x1000 and `b` at 0x1008, and what
// depends on them is told.
#include "replay/flow.h"

#include "replay/world_testing.h"

namespace deadheat::replay {
namespace {

using ::testing::IsEmpty;

constexpr std::uint64_t kA = 0x1000, kB = 0x1008, kTo = 0x2000;

// "2000 <- a,b": writes whose value or address depends on something.
class Told final : public Observer {
 public:
  explicit Told(Labels* const* labels) : labels_(labels) {}

  Label source_of(const Access& access) override {
    const char name = access.address == Address(kA) ? 'a' : access.address == Address(kB) ? 'b' : '\0';
    if (name == '\0') return {};
    if (!sources_.contains(name)) sources_[name] = (*labels_)->add_source();
    return (*labels_)->label_of(sources_[name]);
  }
  void on_access(const Access& access) override {
    if (!access.is_write || (access.label == Label() && access.address_label == Label())) return;
    told.push_back(text(access.address.value()) + " <- " + names(access.label));
    if (access.address_label != Label()) told.back() += " at " + names(access.address_label);
  }
  void on_branch(ThreadId, SiteId site, Label label) override {
    EXPECT_NE(site, SiteId());
    told.push_back("branch " + names(label));
  }
  void on_labelled_call(ThreadId, SiteId, Address, std::span<const Label> labels) override {
    std::string call = "call";
    for (const Label label : labels) call += " " + names(label);
    told.push_back(call);
  }

  std::vector<std::string> told;

 private:
  static std::string text(std::uint64_t number) {
    char digits[20];
    std::snprintf(digits, sizeof digits, "%lx", number);
    return digits;
  }
  std::string names(Label label) const {
    std::string all;
    for (const auto& [name, source] : sources_)
      if ((*labels_)->contains(label, source)) all += (all.empty() ? "" : ",") + std::string(1, name);
    return all.empty() ? "-" : all;
  }

  Labels* const* labels_;
  std::map<char, Source> sources_;
};

class FlowTest : public WorldTest {
 protected:
  // A function with %a and %b at hand, %to to store to, and `body`; functions and globals around it. It is
  // function `index`.
  void flow(const std::string& body, const std::string& around = {}, std::size_t index = 0,
            std::uint64_t a = 3) {
    const bool has_pads = body.find("landingpad") != std::string::npos;
    program(around + "define void @f(ptr %p, ptr %to) " + (has_pads ? "personality ptr @personality" : "") +
            R"({
  %a = load i64, ptr %p, align 8
  %q = getelementptr i8, ptr %p, i64 8
  %b = load i64, ptr %q, align 8
  %to8 = getelementptr i8, ptr %to, i64 8
)" + body + "\n}\n");
    call(0, index, {kA, kTo});
    thread(0).value(0, a, 8);
    thread(0).value(0, 5, 8);
  }
  std::vector<std::string> told() {
    if (!has_end_) thread(0).end(0, EndKind::kProcessEnded, 0);
    Told told(&labels_);
    Result<Summary> summary = replay_labelled(told);
    EXPECT_TRUE(summary.ok()) << summary.error().message;
    if (summary.ok() && summary->divergence) ADD_FAILURE() << summary->divergence->what;
    return told.told;
  }
  void end(std::uint64_t predicted) {
    thread(0).end(predicted, EndKind::kProcessEnded, 0);
    has_end_ = true;
  }

 private:
  Result<Summary> replay_labelled(Observer& observer) {
    setenv("DEADHEAT_REPLAY_VERIFY", "1", 1);
    return replay(Variant::kLabelled, {&observer}, {}, [&] { labels_ = &world_->labels(); });
  }
  Labels* labels_ = nullptr;
  bool has_end_ = false;
};

// --- Registers

TEST_F(FlowTest, ArithmeticDependsOnItsOperands) {
  flow(R"(
  %s = add i64 %a, %b
  %t = mul i64 %a, 7
  store i64 %s, ptr %to, align 8
  store i64 %t, ptr %to8, align 8
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a,b", "2008 <- a"));
}

TEST_F(FlowTest, AConstantDependsOnNothing) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  store i64 9, ptr %to, align 8
  %back = load i64, ptr %to, align 8
  store i64 %back, ptr %to8, align 8
  ret void)");
  end(1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a"));
}

TEST_F(FlowTest, ConversionsComparisonsAndFloatingPoint) {
  flow(R"(
  %n = trunc i64 %a to i32
  %w = sext i32 %n to i64
  %d = sitofp i64 %w to double
  %e = fadd double %d, 1.0
  %i = fptosi double %e to i64
  store i64 %i, ptr %to, align 8
  %c = icmp ult i64 %b, 10
  %z = zext i1 %c to i64
  store i64 %z, ptr %to8, align 8
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- b"));
}

TEST_F(FlowTest, ASelectionDependsOnItsCondition) {
  flow(R"(
  %c = icmp eq i64 %a, 3
  %s = select i1 %c, i64 1, i64 %b
  store i64 %s, ptr %to, align 8
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a,b"));
}

TEST_F(FlowTest, AggregatesAndVectorsHaveOneLabel) {
  flow(R"(
  %v0 = insertelement <2 x i64> zeroinitializer, i64 %a, i32 0
  %v = shufflevector <2 x i64> %v0, <2 x i64> poison, <2 x i32> <i32 1, i32 0>
  %x = extractelement <2 x i64> %v, i32 1
  store i64 %x, ptr %to, align 8
  %s0 = insertvalue { i64, i64 } zeroinitializer, i64 %b, 1
  %y = extractvalue { i64, i64 } %s0, 1
  store i64 %y, ptr %to8, align 8
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- b"));
}

TEST_F(FlowTest, IntrinsicsThatComputeDependOnTheirOperands) {
  flow(R"(
  %m = call i64 @llvm.umax.i64(i64 %a, i64 %b)
  store i64 %m, ptr %to, align 8
  %o = call { i64, i1 } @llvm.sadd.with.overflow.i64(i64 %a, i64 1)
  %s = extractvalue { i64, i1 } %o, 0
  store i64 %s, ptr %to8, align 8
  ret void)",
       "declare i64 @llvm.umax.i64(i64, i64)\n"
       "declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)\n");
  EXPECT_THAT(told(), ElementsAre("2000 <- a,b", "2008 <- a"));
}

TEST_F(FlowTest, MathematicsAndAssemblyDependOnTheirOperands) {
  flow(R"(
  %d = sitofp i64 %a to double
  %r = call double @llvm.sin.f64(double %d)
  %i = fptosi double %r to i64
  store i64 %i, ptr %to, align 8
  %x = call i64 asm "mov $1, $0", "=r,r"(i64 %b)
  store i64 %x, ptr %to8, align 8
  ret void)",
       "declare double @llvm.sin.f64(double)\n");
  thread(0).value(0, 0, 8);  // the sine
  thread(0).value(0, 5, 8);  // the assembly
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- b"));
}

TEST_F(FlowTest, LabelsGoRoundInLoops) {
  // sum = 0; for (i = 0; i < 3; ++i) sum += previous, previous = b
  flow(R"(
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i64 [ 0, %0 ], [ %more, %loop ]
  %previous = phi i64 [ %a, %0 ], [ %b, %loop ]
  %more = add i64 %sum, %previous
  store i64 %more, ptr %to, align 8
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 3
  br i1 %done, label %out, label %loop
out:
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2000 <- a,b", "2000 <- a,b"));
}

// --- Locals

TEST_F(FlowTest, PrivateLocalsKeepLabelsByByte) {
  flow(R"(
  %local = alloca { i64, i32, i32 }, align 8
  %second = getelementptr i8, ptr %local, i64 8
  %third = getelementptr i8, ptr %local, i64 12
  %n = trunc i64 %b to i32
  store i64 %a, ptr %local, align 8
  store i32 %n, ptr %second, align 4
  store i32 1, ptr %third, align 4
  %x = load i64, ptr %local, align 8
  %y = load i64, ptr %second, align 8
  %z = load i32, ptr %third, align 4
  store i64 %x, ptr %to, align 8
  store i64 %y, ptr %to8, align 8
  store i32 %z, ptr %to, align 4
  ret void)");
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- b"));
}

TEST_F(FlowTest, SharedLocalsAreMemory) {
  program(R"(
declare void @use(ptr)
define void @f(ptr %p, ptr %to) {
  %local = alloca i64, align 8
  %a = load i64, ptr %p, align 8
  call void @use(ptr %local)
  store i64 %a, ptr %local, align 8
  %x = load i64, ptr %local, align 8
  store i64 %x, ptr %to, align 8
  ret void
})");
  call(0, 0, {kA, kTo});
  thread(0).value(0, 0x7000, 8);  // the local
  thread(0).value(0, 3, 8);
  end(2);  // `nothing`, and the local again
  EXPECT_THAT(told(), ElementsAre("7000 <- a", "2000 <- a"));
}

// --- Memory

TEST_F(FlowTest, MemoryKeepsLabelsByByte) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %n = trunc i64 %b to i8
  %to3 = getelementptr i8, ptr %to, i64 3
  store i8 %n, ptr %to3, align 1
  %low = load i16, ptr %to, align 8
  %all = load i64, ptr %to, align 8
  %w = zext i16 %low to i64
  store i64 %w, ptr %to8, align 8
  store i64 %all, ptr %to8, align 8
  ret void)");
  end(2);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2003 <- b", "2008 <- a", "2008 <- a,b"));
}

TEST_F(FlowTest, AnUnalignedAccessIsOneAccess) {
  flow(R"(
  %odd = getelementptr i8, ptr %to, i64 6
  store i64 %a, ptr %odd, align 1
  %x = load i64, ptr %odd, align 1
  store i64 %x, ptr %to, align 8
  ret void)");
  end(1);
  EXPECT_THAT(told(), ElementsAre("2006 <- a", "2000 <- a"));
}

TEST_F(FlowTest, WhatAnotherWroteHasNoLabel) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %x = load i64, ptr %to, align 8
  store i64 %x, ptr %to8, align 8
  ret void)");
  thread(0).value(0, 0x7777777777777777, 8);  // not a byte of what was stored
  EXPECT_THAT(told(), ElementsAre("2000 <- a"));
}

TEST_F(FlowTest, WhatIsReadThroughAPointerDependsOnThePointer) {
  flow(R"(
  %at = getelementptr i8, ptr %to, i64 %a
  %x = load i8, ptr %at, align 1
  store i8 %x, ptr %to, align 1
  store i8 1, ptr %at, align 1
  ret void)");
  thread(0).value(0, 9, 1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2003 <- - at a"));
}

TEST_F(FlowTest, LargeValuesComeInPieces) {
  flow(R"(
  %v0 = insertelement <2 x i64> zeroinitializer, i64 %a, i32 0
  %v1 = insertelement <2 x i64> %v0, i64 %b, i32 1
  store <2 x i64> %v1, ptr %to, align 16
  %v = load <2 x i64>, ptr %to, align 16
  %x = extractelement <2 x i64> %v, i32 0
  store i64 %x, ptr %to, align 8
  ret void)");
  end(2);
  EXPECT_THAT(told(), ElementsAre("2000 <- a,b", "2008 <- a,b", "2000 <- a,b"));
}

TEST_F(FlowTest, CopiesMoveLabelsWordByWord) {
  flow(R"(
  %far = getelementptr i8, ptr %to, i64 256
  store i64 %a, ptr %to, align 8
  store i64 1, ptr %to8, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %far, ptr %to, i64 16, i1 false)
  ret void)",
       "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n");
  end(2);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2100 <- a"));
}

TEST_F(FlowTest, ACopyOfACertainSizeDependsOnTheSize) {
  flow(R"(
  %far = getelementptr i8, ptr %to, i64 256
  call void @llvm.memmove.p0.p0.i64(ptr %far, ptr %to, i64 %a, i1 false)
  ret void)",
       "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n");
  thread(0).value(0, 7, 4);  // 3 bytes
  EXPECT_THAT(told(), ElementsAre("2100 <- - at a"));
}

TEST_F(FlowTest, AFillHasTheLabelOfItsByte) {
  flow(R"(
  %n = trunc i64 %b to i8
  call void @llvm.memset.p0.i64(ptr %to, i8 %n, i64 9, i1 false)
  ret void)",
       "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n");
  EXPECT_THAT(told(), ElementsAre("2000 <- b", "2008 <- b"));
}

TEST_F(FlowTest, AtomicsUpdateWhatTheyFind) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %old = atomicrmw add ptr %to, i64 %b seq_cst
  store i64 %old, ptr %to8, align 8
  %was = atomicrmw xchg ptr %to, i64 1 seq_cst
  store i64 %was, ptr %to8, align 8
  ret void)");
  using Stores = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  Stores stores = {{kTo, 3}};
  sequencer(0, 0, mix(stores), static_cast<SequencerKind>(32 + kDhAtomicAdd), 5 | 8 << 4);
  stores.insert(stores.end(), {{kTo, 8}, {kTo + 8, 3}});
  sequencer(0, 1, mix(stores), static_cast<SequencerKind>(32 + kDhAtomicExchange), 5 | 8 << 4);
  end(1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2000 <- a,b", "2008 <- a", "2008 <- a,b"));
}

TEST_F(FlowTest, ACompareExchangeDependsOnWhatItComparesWith) {
  flow(R"(
  %pair = cmpxchg ptr %to, i64 %a, i64 %b seq_cst seq_cst
  %done = extractvalue { i64, i1 } %pair, 1
  %w = zext i1 %done to i64
  store i64 %w, ptr %to8, align 8
  %l = load atomic i64, ptr %to seq_cst, align 8
  store atomic i64 %l, ptr %to8 seq_cst, align 8
  ret void)");
  const auto kind = [](int operation) { return static_cast<SequencerKind>(32 + operation); };
  sequencer(0, 0, 0, kind(kDhAtomicCompareExchange), 5 | 8 << 4 | 1 << 9);
  thread(0).value(0, 3, 8);
  const std::uint64_t hash = mix({{kTo, 5}, {kTo + 8, 1}});
  sequencer(0, 0, hash, kind(kDhAtomicLoad), 5 | 8 << 4);
  sequencer(0, 1, hash, kind(kDhAtomicStore), 5 | 8 << 4);
  EXPECT_THAT(told(), ElementsAre("2000 <- b", "2008 <- a", "2008 <- b"));
}

// --- Control

TEST_F(FlowTest, BranchesAndSwitchesAreTold) {
  flow(R"(
  %c = icmp eq i64 %a, 3
  br i1 %c, label %yes, label %no
yes:
  switch i64 %b, label %no [ i64 5, label %five ]
five:
  store i64 1, ptr %to, align 8
  ret void
no:
  ret void)");
  EXPECT_THAT(told(), ElementsAre("branch a", "branch b"));
}

// --- Calls

TEST_F(FlowTest, FunctionsOfTheProgramAreGivenLabelsAndReturnThem) {
  flow(R"(
  %x = call i64 @second(i64 %a, i64 %b)
  store i64 %x, ptr %to, align 8
  %y = call i64 @second(i64 %b, i64 7)
  store i64 %y, ptr %to8, align 8
  ret void)",
       "define internal i64 @second(i64 %u, i64 %v) {\n  %w = add i64 %v, 1\n  ret i64 %w\n}\n", 1);
  EXPECT_THAT(told(), ElementsAre("2000 <- b"));
}

TEST_F(FlowTest, SoAreThoseThatAreInvoked) {
  flow(R"(
  %x = invoke i64 @id(i64 %a) to label %fine unwind label %pad
fine:
  %m = phi i64 [ %x, %0 ]
  store i64 %m, ptr %to, align 8
  ret void
pad:
  %e = landingpad { ptr, i32 } cleanup
  ret void)",
       "declare i32 @personality(...)\n"
       "define internal i64 @id(i64 %u) {\n  ret i64 %u\n}\n",
       1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a"));
}

TEST_F(FlowTest, IndirectCallsDependOnTheirTarget) {
  flow(R"(
  %t = inttoptr i64 %a to ptr
  %r = call i64 %t(i64 %b)
  store i64 %r, ptr %to8, align 8
  ret void)",
       "define i64 @other(i64 %v) {\n  ret i64 %v\n}\n", 1, kFunctions);
  EXPECT_THAT(told(), ElementsAre("branch a", "2008 <- b"));
}

constexpr char kOutside[] = "declare i64 @outside(ptr, i64)\n";

TEST_F(FlowTest, ResultsOfInvisibleCallsDependOnTheirArguments) {
  flow(R"(
  %r = call i64 @outside(ptr %to, i64 %a)
  store i64 %r, ptr %to8, align 8
  %s = call i64 @outside(ptr %to, i64 1)
  store i64 %s, ptr %to8, align 8
  ret void)",
       kOutside);
  thread(0).value(0, 40, 8);
  thread(0).value(0, 41, 8);
  EXPECT_THAT(told(), ElementsAre("call - a", "2008 <- a"));
}

TEST_F(FlowTest, AndOnWhatTheyReadForTheProgram) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %r = call i64 @outside(ptr %to, i64 8)
  store i64 %r, ptr %to8, align 8
  ret void)",
       kOutside);
  thread(0).access(0, {recording::AccessKind::kRead, Address(kTo + 2), 1, Address(1)});
  thread(0).value(0, 40, 8);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- a"));
}

TEST_F(FlowTest, WhatTheyWriteForTheProgramDependsOnTheSame) {
  flow(R"(
  %r = call i64 @outside(ptr %to, i64 %b)
  %x = load i64, ptr %to, align 8
  store i64 %x, ptr %to8, align 8
  ret void)",
       kOutside);
  thread(0).access(0, {recording::AccessKind::kWrite, Address(kTo), 8, Address(1)});
  thread(0).value(0, 40, 8);
  thread(0).value(0, 123, 8);  // whatever it wrote
  EXPECT_THAT(told(), ElementsAre("call - b", "2008 <- b"));
}

TEST_F(FlowTest, CallBacksDependOnTheCallTheyAreMadeFrom) {
  flow(R"(
  %r = call i64 @outside(ptr %to, i64 %a)
  store i64 %b, ptr %to8, align 8
  ret void)",
       std::string(kOutside) + "define i64 @back(ptr %x, i64 %v) {\n  store i64 %v, ptr %x\n  ret i64 0\n}\n",
       1);
  call(0, 0, {0x3000, 6});
  thread(0).value(0, 40, 8);
  EXPECT_THAT(told(), ElementsAre("call - a", "3000 <- a at a", "2008 <- b"));
}

TEST_F(FlowTest, ASignalInTheMiddleChangesNoLabel) {
  flow(R"(
  %x = load i64, ptr %to8, align 8
  %t = add i64 %a, %x
  store i64 %t, ptr %to, align 8
  ret void)",
       R"(
define void @handler(ptr %x, ptr %y) {
  %v = load i64, ptr %x, align 8
  store i64 %v, ptr %y, align 8
  ret void
})",
       1);
  call(0, 0, {kB, 0x3000});  // before the load of %x
  thread(0).value(1, 1, 8);
  EXPECT_THAT(told(), ElementsAre("3000 <- b", "2000 <- a"));
}

TEST_F(FlowTest, ANewThreadIsGivenTheLabelOfItsArgument) {
  flow(R"(
  %r = call i64 @outside(ptr %to, i64 %a)
  ret void)",
       std::string(kOutside) +
           "define void @start(i64 %v) {\n  store i64 %v, ptr @sink\n  ret void\n}\n@sink = global i64 0\n",
       1);
  sequencer(0, 0, 0, SequencerKind::kThreadCreated, 1);
  thread(0).value(0, 0, 8);
  sequencer(1, 0, 0, SequencerKind::kThreadStarted, 0);
  call(1, 0, {3});
  thread(1).end(0, EndKind::kThreadEnded, 0);
  EXPECT_THAT(told(), ElementsAre("call - a", ::testing::EndsWith(" <- a")));
}

TEST_F(FlowTest, ReallocTakesLabelsAlong) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %r = call ptr @realloc(ptr %to, i64 64)
  %x = load i64, ptr %r, align 8
  store i64 %x, ptr %to8, align 8
  ret void)",
       "declare ptr @realloc(ptr, i64)\n");
  recording::Sequencer happened{};
  happened.kind = SequencerKind::kFreeing;
  happened.object = Address(kTo);
  happened.hash = dh_record_digest(mix({{kTo, 3}}));
  thread(0).sequencer(0, happened);
  happened.kind = SequencerKind::kAllocated;
  happened.number = recording::SequencerNumber(1);
  happened.object = Address(0x5000);
  happened.extra = 64;
  thread(0).sequencer(0, happened);
  thread(0).access(0, {recording::AccessKind::kWrite, Address(0x5000), 64, Address(1)});
  thread(0).value(0, 0x5000, 8);
  thread(0).value(0, 3, 8);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- a"));
}

TEST_F(FlowTest, ANewBlockHasNoLabels) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %r = call ptr @malloc(i64 64)
  %x = load i64, ptr %r, align 8
  store i64 %x, ptr %to8, align 8
  ret void)",
       "declare ptr @malloc(i64)\n");
  recording::Sequencer happened{};
  happened.kind = SequencerKind::kAllocated;
  happened.object = Address(kTo);
  happened.extra = 64;
  happened.hash = dh_record_digest(mix({{kTo, 3}}));
  thread(0).sequencer(0, happened);
  thread(0).value(0, kTo, 8);
  end(1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a"));
}

TEST_F(FlowTest, ArgumentsPassedByValueTakeTheirLabelsAlong) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  %r = call i64 @first(ptr byval({ i64, i64 }) %to)
  store i64 %r, ptr %to8, align 8
  ret void)",
       R"(
define internal i64 @first(ptr byval({ i64, i64 }) %s) {
  %x = load i64, ptr %s, align 8
  ret i64 %x
})",
       1);
  thread(0).value(0, 0x7000, 8);  // the address of the copy
  thread(0).value(0, 3, 8);
  EXPECT_THAT(told(), ElementsAre("2000 <- a", "2008 <- a"));
}

TEST_F(FlowTest, MoreArgumentsThanLabelsShareTheLast) {
  std::string parameters, arguments;
  for (int i = 0; i < 70; ++i) {
    parameters += std::string(i == 0 ? "" : ", ") + "i64 %p" + std::to_string(i);
    arguments += std::string(i == 0 ? "" : ", ") + (i == 66 ? "i64 %a" : i == 2 ? "i64 %b" : "i64 0");
  }
  flow("  %x = call i64 @last(" + arguments + ")\n  store i64 %x, ptr %to, align 8\n  ret void",
       "define internal i64 @last(" + parameters + ") {\n  ret i64 %p69\n}\n", 1);
  EXPECT_THAT(told(), ElementsAre("2000 <- a"));
}

// --- Not asked for

TEST_F(FlowTest, NothingIsLabelledUnlessAskedFor) {
  flow(R"(
  store i64 %a, ptr %to, align 8
  ret void)");
  thread(0).end(0, EndKind::kProcessEnded, 0);
  Labels labels;
  Labels* known = &labels;
  Told told(&known);
  expect_verified(replay(Variant::kObserved, {&told}), 0);
  EXPECT_THAT(told.told, IsEmpty());
  EXPECT_EQ(world_->flow(), nullptr);
}

// --- Labels

TEST(Labels, EqualSetsAreOneLabel) {
  Labels labels;
  const Label a = labels.label_of(labels.add_source());
  const Label b = labels.label_of(labels.add_source());
  const Label c = labels.label_of(labels.add_source());
  EXPECT_EQ(labels.join(labels.join(a, b), c), labels.join(c, labels.join(b, a)));
  EXPECT_EQ(labels.join(labels.join(a, b), b), labels.join(a, b));
  EXPECT_EQ(labels.join(Label(), c), c);
  EXPECT_THAT(labels.sources_of(labels.join(a, c)), ElementsAre(Source(0), Source(2)));
  EXPECT_FALSE(labels.contains(labels.join(a, c), Source(1)));
}

TEST(Labels, TooManySourcesMayBeAny) {
  Labels labels;
  Label all;
  for (std::size_t i = 0; i < Labels::kMost; ++i)
    all = labels.join(all, labels.label_of(labels.add_source()));
  EXPECT_NE(all, Labels::kMany);
  const Source other = labels.add_source();
  EXPECT_FALSE(labels.contains(all, other));
  all = labels.join(all, labels.label_of(other));
  EXPECT_EQ(all, Labels::kMany);
  EXPECT_TRUE(labels.contains(all, labels.add_source()));
  EXPECT_EQ(labels.join(all, labels.label_of(other)), Labels::kMany);
}

TEST(LabelledMemory, RangesAcrossPages) {
  Labels labels;
  LabelledMemory memory(labels);
  const Label a = labels.label_of(labels.add_source());
  memory.write_range(Address(0xff0), 0x1020, a);
  EXPECT_EQ(memory.pages(), 3u);
  EXPECT_EQ(memory.read(Address(0xfec), 0, 8), a);
  EXPECT_EQ(memory.read(Address(0xfe8), 0, 8), Label());
  EXPECT_EQ(memory.read_range(Address(0x2010), 100), Label());
  EXPECT_EQ(memory.read_range(Address(0x200f), 1), a);
  memory.write_range(Address(0x1000), std::uint64_t{1} << 40, Label());
  EXPECT_EQ(memory.read_range(Address(0x1000), 0x2000), Label());
  EXPECT_EQ(memory.read_range(Address(0xfff), 1), a);
}

TEST(LabelledMemory, CopiesMayOverlap) {
  Labels labels;
  const Label a = labels.label_of(labels.add_source());
  const Label b = labels.label_of(labels.add_source());
  for (const int distance : {8, -8}) {
    LabelledMemory memory(labels);
    memory.write(Address(0x10000), 1, 8, a);
    memory.write(Address(0x12000), 2, 8, b);
    memory.copy(Address(0x10000 + static_cast<std::uint64_t>(distance)), Address(0x10000), 0x2008);
    EXPECT_EQ(memory.read(Address(0x10000 + static_cast<std::uint64_t>(distance)), 1, 8), a);
    EXPECT_EQ(memory.read(Address(0x12000 + static_cast<std::uint64_t>(distance)), 2, 8), b);
    EXPECT_EQ(memory.read(Address(0x12000 + static_cast<std::uint64_t>(distance)), ~std::uint64_t{0}, 8),
              Label());
  }
}

}  // namespace
}  // namespace deadheat::replay
