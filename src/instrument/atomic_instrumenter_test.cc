#include "instrument/testing.h"
#include "runtime/abi.h"

namespace deadheat::instrument::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

uint64_t constant(const llvm::CallInst* call, unsigned argument) {
  return llvm::cast<llvm::ConstantInt>(call->getArgOperand(argument))->getZExtValue();
}

TEST(Atomics, OrdersAreThoseOfC) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = load atomic i32, ptr %p monotonic, align 4
      %2 = load atomic i32, ptr %p acquire, align 4
      store atomic i32 1, ptr %p release, align 4
      store atomic i32 1, ptr %p seq_cst, align 4
      %3 = atomicrmw add ptr %p, i32 1 acq_rel
      ret void
    })");
  EXPECT_EQ(constant(f.calls("__dh_atomic_load32")[0], 1), 0u);
  EXPECT_EQ(constant(f.calls("__dh_atomic_load32")[1], 1), 2u);
  EXPECT_EQ(constant(f.calls("__dh_atomic_store32")[0], 2), 3u);
  EXPECT_EQ(constant(f.calls("__dh_atomic_store32")[1], 2), 5u);
  EXPECT_EQ(constant(f.calls("__dh_atomic_fetch_add32")[0], 2), 4u);
  EXPECT_EQ(f.statistics().atomics, 5u);
  EXPECT_EQ(f.statistics().accesses, 0u);
}

TEST(Atomics, EverySizeHasItsHook) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = load atomic i8, ptr %p seq_cst, align 1
      %2 = load atomic i16, ptr %p seq_cst, align 2
      %3 = load atomic i64, ptr %p seq_cst, align 8
      %4 = load atomic i128, ptr %p seq_cst, align 16
      ret void
    })");
  EXPECT_THAT(f.hooks(), ElementsAre("enter", "atomic_load8", "atomic_load16", "atomic_load64",
                                     "atomic_load128", "leave"));
  EXPECT_TRUE(f.calls("__dh_atomic_load8")[0]->hasRetAttr(llvm::Attribute::ZExt));
}

TEST(Atomics, PointersAndFloatsTravelAsIntegers) {
  Instrumented f(R"(
    define ptr @f(ptr %p, ptr %v) {
      store atomic ptr %v, ptr %p release, align 8
      %1 = load atomic ptr, ptr %p acquire, align 8
      ret ptr %1
    }
    define float @g(ptr %p, float %v) {
      store atomic float %v, ptr %p release, align 4
      %1 = atomicrmw xchg ptr %p, float %v seq_cst
      ret float %1
    })");
  EXPECT_THAT(f.hooks("f"), ElementsAre("enter", "atomic_store64", "atomic_load64", "leave"));
  EXPECT_THAT(f.hooks("g"), ElementsAre("enter", "atomic_store32", "atomic_exchange32", "leave"));
}

TEST(Atomics, EveryUpdateTheRuntimeKnows) {
  Instrumented f(R"(
    define void @f(ptr %p) {
      %1 = atomicrmw xchg ptr %p, i64 1 seq_cst
      %2 = atomicrmw add ptr %p, i64 1 seq_cst
      %3 = atomicrmw sub ptr %p, i64 1 seq_cst
      %4 = atomicrmw and ptr %p, i64 1 seq_cst
      %5 = atomicrmw or ptr %p, i64 1 seq_cst
      %6 = atomicrmw xor ptr %p, i64 1 seq_cst
      %7 = atomicrmw nand ptr %p, i64 1 seq_cst
      ret void
    })");
  EXPECT_THAT(f.hooks(), ElementsAre("enter", "atomic_exchange64", "atomic_fetch_add64", "atomic_fetch_sub64",
                                     "atomic_fetch_and64", "atomic_fetch_or64", "atomic_fetch_xor64",
                                     "atomic_fetch_nand64", "leave"));
}

TEST(Atomics, OtherUpdatesRunBetweenBeginAndEnd) {
  Instrumented f(R"(
    define double @f(ptr %p, double %v) {
      %1 = atomicrmw umax ptr %p, i32 3 release
      %2 = atomicrmw fadd ptr %p, double %v seq_cst
      ret double %2
    })");
  EXPECT_THAT(f.hooks(),
              ElementsAre("enter", "atomic_begin", "atomic_end", "atomic_begin", "atomic_end", "leave"));
  const llvm::CallInst* begin = f.calls("__dh_atomic_begin")[0];
  EXPECT_EQ(constant(begin, 1), 4u);
  EXPECT_EQ(constant(begin, 2), unsigned{kDhHeldUpdate});
  EXPECT_EQ(constant(begin, 3), 3u);
  EXPECT_TRUE(llvm::isa<llvm::AtomicRMWInst>(begin->getNextNode()));
  EXPECT_EQ(begin->getNextNode()->getNextNode(), f.calls("__dh_atomic_end")[0]);
}

TEST(Atomics, CompareExchangeReturnsOldValueAndSuccess) {
  Instrumented f(R"(
    define i1 @f(ptr %p, i32 %e, i32 %d) {
      %1 = cmpxchg weak ptr %p, i32 %e, i32 %d acq_rel monotonic
      %2 = extractvalue {i32, i1} %1, 1
      ret i1 %2
    }
    define ptr @g(ptr %p, ptr %e, ptr %d) {
      %1 = cmpxchg ptr %p, ptr %e, ptr %d seq_cst seq_cst
      %2 = extractvalue {ptr, i1} %1, 0
      ret ptr %2
    })");
  ASSERT_EQ(f.calls("__dh_atomic_compare_exchange32").size(), 1u);
  const llvm::CallInst* call = f.calls("__dh_atomic_compare_exchange32")[0];
  EXPECT_EQ(constant(call, 3), 4u);
  EXPECT_EQ(constant(call, 4), 0u);
  const auto* success = llvm::dyn_cast<llvm::ICmpInst>(call->getNextNode());
  ASSERT_TRUE(success);
  EXPECT_EQ(success->getPredicate(), llvm::CmpInst::ICMP_EQ);
  EXPECT_THAT(f.hooks("g"), Contains("atomic_compare_exchange64"));
}

TEST(Atomics, FencesOfOneThreadAreSignalFences) {
  Instrumented f(R"(
    define void @f() {
      fence acquire
      fence syncscope("singlethread") seq_cst
      ret void
    })");
  EXPECT_THAT(f.hooks(), ElementsAre("enter", "atomic_fence", "atomic_signal_fence", "leave"));
  EXPECT_EQ(constant(f.calls("__dh_atomic_fence")[0], 0), 2u);
}

TEST(Atomics, CallsOfLibatomicAreAtomicsToo) {
  Instrumented f(R"(
    declare i128 @__atomic_load_16(ptr, i32)
    declare i1 @__atomic_compare_exchange_16(ptr, ptr, i128, i32, i32)
    define i128 @f(ptr %p) {
      %1 = call i128 @__atomic_load_16(ptr %p, i32 2)
      ret i128 %1
    }
    define i1 @g(ptr %p, ptr %e, i128 %d) {
      %1 = call i1 @__atomic_compare_exchange_16(ptr %p, ptr %e, i128 %d, i32 5, i32 0)
      ret i1 %1
    })");
  EXPECT_THAT(f.hooks("f"), ElementsAre("enter", "atomic_load128", "leave"));
  EXPECT_THAT(f.hooks("g"), ElementsAre("enter", "atomic_compare_exchange128", "leave"));
}

TEST(Atomics, ObjectsTooBigForAnInstructionSayWhatIsDoneToThemAndToTheBuffers) {
  Instrumented f(R"(
    declare void @__atomic_load(i64, ptr, ptr, i32)
    declare void @__atomic_store(i64, ptr, ptr, i32)
    declare void @__atomic_exchange(i64, ptr, ptr, ptr, i32)
    define void @load(ptr %p, ptr %r) {
      call void @__atomic_load(i64 24, ptr %p, ptr %r, i32 5)
      ret void
    }
    define void @store(ptr %p, ptr %v) {
      call void @__atomic_store(i64 24, ptr %p, ptr %v, i32 3)
      ret void
    }
    define void @exchange(ptr %p, ptr %v, ptr %r) {
      call void @__atomic_exchange(i64 24, ptr %p, ptr %v, ptr %r, i32 4)
      ret void
    })");
  // What is read, is read before; what is written, is written after what the object carries was learnt.
  EXPECT_THAT(f.hooks("load"), ElementsAre("enter", "atomic_begin", "atomic_end", "write_range", "leave"));
  EXPECT_THAT(f.hooks("store"), ElementsAre("enter", "read_range", "atomic_begin", "atomic_end", "leave"));
  EXPECT_THAT(f.hooks("exchange"),
              ElementsAre("enter", "read_range", "atomic_begin", "atomic_end", "write_range", "leave"));
  const auto begins = f.calls("__dh_atomic_begin");
  const auto ends = f.calls("__dh_atomic_end");
  ASSERT_EQ(ends.size(), 3u);
  const unsigned operations[] = {kDhHeldLoad, kDhHeldStore, kDhHeldUpdate};
  const unsigned orders[] = {5, 3, 4};
  for (unsigned i = 0; i < 3; ++i) {
    for (const llvm::CallInst* call : {begins[i], ends[i]}) {
      EXPECT_EQ(constant(call, 1), 24u);
      EXPECT_EQ(constant(call, 2), operations[i]);
      EXPECT_EQ(constant(call, 3), orders[i]);
    }
  }
}

TEST(Atomics, ABigCompareExchangeThatFailsIsALoadAndWritesWhatWasExpected) {
  Instrumented f(R"(
    declare i1 @__atomic_compare_exchange(i64, ptr, ptr, ptr, i32, i32)
    define i1 @f(ptr %p, ptr %e, ptr %d) {
      %1 = call i1 @__atomic_compare_exchange(i64 24, ptr %p, ptr %e, ptr %d, i32 4, i32 2)
      ret i1 %1
    })");
  EXPECT_THAT(f.hooks(), ElementsAre("enter", "read_range", "read_range", "atomic_begin", "atomic_end",
                                     "write_range", "leave"));
  const llvm::CallInst* begin = f.calls("__dh_atomic_begin")[0];
  EXPECT_EQ(constant(begin, 2), unsigned{kDhHeldUpdate});
  EXPECT_EQ(constant(begin, 3), 4u);
  const auto either = [](const llvm::CallInst* call, unsigned argument) {
    const auto* choice = llvm::cast<llvm::SelectInst>(call->getArgOperand(argument));
    return std::pair(llvm::cast<llvm::ConstantInt>(choice->getTrueValue())->getZExtValue(),
                     llvm::cast<llvm::ConstantInt>(choice->getFalseValue())->getZExtValue());
  };
  const llvm::CallInst* end = f.calls("__dh_atomic_end")[0];
  EXPECT_EQ(either(end, 2), (std::pair<uint64_t, uint64_t>(kDhHeldUpdate, kDhHeldLoad)));
  EXPECT_EQ(either(end, 3), (std::pair<uint64_t, uint64_t>(4, 2)));
  const llvm::CallInst* expected = f.calls("__dh_write_range")[0];
  EXPECT_EQ(expected->getArgOperand(0), f.module().getFunction("f")->getArg(1));
  EXPECT_EQ(either(expected, 1), (std::pair<uint64_t, uint64_t>(0, 24)));
}

TEST(Atomics, AUsersFunctionOfThatNameIsNotLibatomic) {
  Instrumented f(R"(
    define i32 @__atomic_load_4(ptr %p, i32 %o) {
      ret i32 0
    }
    define i32 @f(ptr %p) {
      %1 = call i32 @__atomic_load_4(ptr %p, i32 2)
      ret i32 %1
    })");
  EXPECT_THAT(f.hooks(), Not(Contains("atomic_load32")));
}

}  // namespace
}  // namespace deadheat::instrument::testing
