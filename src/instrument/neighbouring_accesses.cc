#include "instrument/neighbouring_accesses.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace deadheat::instrument {

using namespace llvm;

namespace {

struct Member {
  Access* access;
  Bytes bytes;
  unsigned position;  // in the block
};

// One cell of shadow.
constexpr int64_t kGranule = 8;

// The value of `member` as an integer of its size, or null.
Value* as_integer(IRBuilderBase& builder, const Member& member, const DataLayout& layout) {
  Value* stored = member.access->stored;
  if (!stored) return nullptr;
  Type* const type = stored->getType();
  if (type->isAggregateType() || layout.getTypeSizeInBits(type) != member.bytes.size * 8) return nullptr;
  Type* const integer = builder.getIntNTy(member.bytes.size * 8);
  if (type->isPointerTy()) return builder.CreatePtrToInt(stored, integer);
  return builder.CreateBitCast(stored, integer);
}

class Joiner {
 public:
  Joiner(const FunctionView& view, Statistics& statistics)
      : view_(view), layout_(view.function().getParent()->getDataLayout()), statistics_(statistics) {}

  void run(BasicBlock& block) {
    unsigned position = 0;
    for (Instruction& instruction : block) {
      ++position;
      for (Access& access : view_.accesses_of(instruction)) {
        if (!access.live || access.size == 0 || access.size > kGranule) continue;
        if (!isa<LoadInst>(instruction) && !isa<StoreInst>(instruction)) continue;
        const Member member{&access, view_.bytes_of(access), position};
        if (access.size == kGranule)
          add_word(member);
        else
          open_.push_back(member);
      }
      if (!view_.effects_of(instruction).none()) flush();
    }
    flush();
  }

 private:
  // Joins what was collected since the last barrier.
  void flush() {
    while (!open_.empty()) {
      // The oldest and everything that can be joined with it.
      const Member first = open_.front();
      std::vector<Member> group, rest;
      for (const Member& member : open_) (belongs_together(first, member) ? group : rest).push_back(member);
      open_ = std::move(rest);
      join(group);
      for (const Member& member : group) add_word(member);
    }
    pair_words();
  }

  void add_word(const Member& member) {
    if (member.bytes.size != kGranule || member.access->alignment.value() < kGranule) return;
    words_[{member.bytes.base, member.access->kind}].push_back(member);
  }

  // What stands at the instruction `a`, before anything that stands behind it in the block.
  static bool is_known_at(const Value* value, const Instruction& a) {
    const auto* computed = dyn_cast<Instruction>(value);
    return !computed || computed->getParent() != a.getParent() || computed->comesBefore(&a);
  }

  void pair_words() {
    // What is inserted makes comparing places in the block slow: first all questions, then all changes.
    std::vector<std::pair<Member, Member>> pairs;
    for (auto& [key, words] : words_) {
      sort(words, [](const Member& a, const Member& b) {
        return std::pair(a.bytes.offset, a.position) < std::pair(b.bytes.offset, b.position);
      });
      for (size_t i = 0; i + 1 < words.size(); ++i) {
        const Member& low = words[i];
        const Member& high = words[i + 1];
        if (low.bytes.end() != high.bytes.offset ||
            !FunctionView::is_same_place(*low.access->instruction, *high.access->instruction))
          continue;
        const Member& last = low.position > high.position ? low : high;
        const Member& first = low.position > high.position ? high : low;
        if (key.second == AccessKind::kWrite) {
          if (!is_word(low.access->stored) || !is_word(high.access->stored) ||
              !is_known_at(last.access->stored, *first.access->instruction))
            continue;
        }
        pairs.emplace_back(low, high);
        ++i;
      }
    }
    words_.clear();
    for (auto& [low, high] : pairs) pair(low, high);
  }

  bool is_word(const Value* stored) const {
    return stored && !stored->getType()->isAggregateType() &&
           layout_.getTypeSizeInBits(stored->getType()) == kGranule * 8;
  }

  void pair(Member& low, Member& high) {
    Access& first = low.position > high.position ? *high.access : *low.access;
    Access& last = low.position > high.position ? *low.access : *high.access;
    if (&first == high.access) {
      IRBuilder<> builder(first.instruction);
      first.address = builder.CreateConstGEP1_64(builder.getInt8Ty(), first.address, -kGranule);
    }
    first.stored_next = high.access->stored;
    first.stored = low.access->stored;
    first.alignment = Align(kGranule);
    first.size = 2 * kGranule;
    last.live = false;
    ++statistics_.neighbours;
  }

  static bool belongs_together(const Member& a, const Member& b) {
    return a.bytes.base == b.bytes.base && a.access->kind == b.access->kind &&
           FunctionView::is_same_line(*a.access->instruction, *b.access->instruction) &&
           std::abs(a.bytes.offset - b.bytes.offset) < kGranule;
  }

  // Halves first, then their wholes: 1+1, 2+2, 4+4.
  void join(std::vector<Member>& group) {
    for (bool changed = true; changed && group.size() > 1;) {
      changed = false;
      sort(group, [](const Member& a, const Member& b) { return a.bytes.offset < b.bytes.offset; });
      for (size_t i = 0; i + 1 < group.size() && !changed; ++i) {
        Member& low = group[i];
        Member& high = group[i + 1];
        const uint64_t size = low.bytes.size * 2;
        if (low.bytes.size != high.bytes.size || low.bytes.end() != high.bytes.offset || size > kGranule ||
            low.access->alignment.value() < size)
          continue;
        if (low.access->kind == AccessKind::kRead ? !join_reads(low, high, size)
                                                  : !join_writes(low, high, size))
          continue;
        group.erase(group.begin() + static_cast<ptrdiff_t>(i) + 1);
        ++statistics_.neighbours;
        changed = true;
      }
    }
  }

  // `low` becomes the whole; its check stands at the earlier of the two.
  bool join_reads(Member& low, Member& high, uint64_t size) {
    if (low.position > high.position) {
      // The address of the low half may not be computed yet at the earlier place: derive it from the high
      // half's.
      IRBuilder<> builder(high.access->instruction);
      Value* const address = builder.CreateConstGEP1_64(builder.getInt8Ty(), high.access->address,
                                                        -static_cast<int64_t>(low.bytes.size));
      high.access->address = address;
      high.access->alignment = low.access->alignment;
      std::swap(low.access, high.access);
      low.position = high.position;
    }
    low.access->size = low.bytes.size = size;
    high.access->live = false;
    return true;
  }

  // `low` becomes the whole, at the later of the two, with both values.
  bool join_writes(Member& low, Member& high, uint64_t size) {
    Member& last = low.position > high.position ? low : high;
    IRBuilder<> builder(last.access->instruction);
    Value* const low_value = as_integer(builder, low, layout_);
    Value* const high_value = as_integer(builder, high, layout_);
    if (!low_value || !high_value) return false;
    Type* const whole = builder.getIntNTy(size * 8);
    Value* const value =
        builder.CreateOr(builder.CreateZExt(low_value, whole),
                         builder.CreateShl(builder.CreateZExt(high_value, whole), low.bytes.size * 8));
    Access joined = *low.access;
    joined.instruction = last.access->instruction;
    joined.size = size;
    joined.stored = value;
    const unsigned position = last.position;
    Access* const kept = last.access;
    low.access->live = high.access->live = false;
    *kept = joined;
    kept->live = true;
    low = {kept, {low.bytes.base, low.bytes.offset, size}, position};
    return true;
  }

  const FunctionView& view_;
  const DataLayout& layout_;
  Statistics& statistics_;
  std::vector<Member> open_;
  MapVector<std::pair<const Value*, AccessKind>, SmallVector<Member, 4>> words_;
};

}  // namespace

void join_neighbouring_accesses(const FunctionView& view, Statistics& statistics) {
  Joiner joiner(view, statistics);
  for (BasicBlock& block : view.function()) joiner.run(block);
}

}  // namespace deadheat::instrument
