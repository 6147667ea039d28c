#include "recording/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/record_abi.h"

namespace deadheat::recording {
namespace {

constexpr const char* kKinds[] = {
    "acquire",        "release",        "release, replacing",  "forget",         "lock acquired",
    "lock releasing", "lock destroyed", "barrier initialised", "barrier arrive", "barrier leave",
    "thread created", "thread started", "thread finishing",    "thread joined",  "allocated",
    "freeing",        "mapped",         "unmapping",           "forked",         "exec",
    "fence",          "usable",
};
static_assert(std::size(kKinds) == kPlainSequencerKinds);

constexpr const char* kOperations[] = {"load", "store", "exchange", "add", "sub",  "and",  "or",
                                       "xor",  "nand",  "max",      "min", "umax", "umin", "compare-exchange",
                                       "fence"};
static_assert(std::size(kOperations) == kAtomicOperations && kDhAtomicFence + 1 == kAtomicOperations);

constexpr const char* kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

const char* order_name(unsigned order) {
  return order < std::size(kOrders) ? kOrders[order] : "unknown order";
}

// A thread's name, as far as it is printable.
std::string name_text(std::uint64_t bytes) {
  std::string text;
  for (; bytes != 0; bytes >>= 8) {
    const auto c = static_cast<char>(bytes & 0xff);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

std::string extra_text(const Sequencer& s) {
  switch (s.kind) {
    case SequencerKind::kLockAcquired:
      return fmt::format("{}{}", s.is_shared() ? ", shared" : "",
                         s.lock_pc().value() != 0 ? fmt::format(", pc {:#x}", s.lock_pc().value()) : "");
    case SequencerKind::kBarrierInitialised:
      return fmt::format(", {} participants", s.extra);
    case SequencerKind::kBarrierArrive:
    case SequencerKind::kBarrierLeave:
      return fmt::format(", generation {}", s.extra);
    case SequencerKind::kThreadCreated:
    case SequencerKind::kThreadJoined:
      return fmt::format(" {}", s.extra);
    case SequencerKind::kThreadStarted:
      return fmt::format(", by {}", s.extra);
    case SequencerKind::kAllocated:
    case SequencerKind::kMapped:
    case SequencerKind::kUnmapping:
    case SequencerKind::kUsable:
      return fmt::format(", {} bytes", s.extra);
    case SequencerKind::kFence:
      return fmt::format(", {}", order_name(s.order()));
    default:
      break;
  }
  if (is_atomic(s.kind)) {
    return fmt::format(", {} bytes, {}{}", s.size(), order_name(s.order()),
                       s.operation() != kDhAtomicCompareExchange ? ""
                       : s.succeeded()                           ? ", done"
                                                                 : ", not done");
  }
  return s.extra == 0 ? "" : fmt::format(", {:#x}", s.extra);
}

std::string note_text(const Note& note) {
  switch (note.kind) {
    case NoteKind::kIgnoreBegin:
    case NoteKind::kIgnoreEnd:
      return fmt::format("{}:{}{}{}", to_string(note.kind), (note.a & kIgnoreReads) != 0 ? " reads" : "",
                         (note.a & kIgnoreWrites) != 0 ? " writes" : "",
                         (note.a & kIgnoreSynchronisation) != 0 ? " synchronisation" : "");
    case NoteKind::kBenignRace:
    case NoteKind::kAllocationPlace:
      return fmt::format("{}: {:#x}, {} bytes, pc {:#x}", to_string(note.kind), note.a, note.b,
                         note.pc.value());
    case NoteKind::kThreadNamed:
      return fmt::format("thread {} named \"{}\"", note.a, name_text(note.b));
  }
  return {};
}

std::string words_text(std::span<const std::uint64_t> words) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), kShown); ++i) {
    text += fmt::format("{}{:#x}", i == 0 ? "" : ", ", words[i]);
  }
  if (words.size() > kShown) text += fmt::format(", and {} more", words.size() - kShown);
  return text;
}

}  // namespace

std::string to_string(SequencerKind kind) {
  const auto number = static_cast<unsigned>(kind);
  if (number < kPlainSequencerKinds) return kKinds[number];
  const unsigned operation = number - static_cast<unsigned>(SequencerKind::kAtomic);
  if (is_atomic(kind) && operation < kAtomicOperations)
    return std::string("atomic ") + kOperations[operation];
  return fmt::format("kind {}", number);
}

const char* to_string(NoteKind kind) {
  constexpr const char* kNames[] = {"ignore begin", "ignore end", "benign race", "thread named",
                                    "allocated at"};
  static_assert(std::size(kNames) == kNoteKinds);
  return kNames[static_cast<unsigned>(kind)];
}

const char* to_string(EndKind kind) {
  constexpr const char* kNames[] = {"thread ended", "process ended", "recording stopped", "cut off"};
  static_assert(std::size(kNames) == kEndKinds);
  return kNames[static_cast<unsigned>(kind)];
}

std::string to_text(const Item& item) {
  switch (item.tag) {
    case Tag::kValue1:
    case Tag::kValue2:
    case Tag::kValue4:
    case Tag::kValue8: {
      const unsigned bytes = 1u << static_cast<unsigned>(item.tag);
      return fmt::format("value{} {:#x}", bytes, item.value);
    }
    case Tag::kSequencer: {
      const Sequencer& s = item.sequencer;
      return fmt::format("{}#{} {}{}{}{}", s.reads_object ? "read, " : "", s.number.value(),
                         to_string(s.kind),
                         s.object.value() != 0 ? fmt::format(" {:#x}", s.object.value()) : "", extra_text(s),
                         s.hash_bits == 0 ? "" : fmt::format(", hash {:0{}x}", s.hash, s.hash_bits / 4));
    }
    case Tag::kCallback:
      return fmt::format("call-back of {:#x}({})", item.callback.function.value(),
                         words_text(item.callback.words));
    case Tag::kUnwound:
      return "call-back left by unwinding";
    case Tag::kLanded:
      return fmt::format("landed at depth {}", item.number);
    case Tag::kJumped:
      return fmt::format("jumped to {:#x}", item.number);
    case Tag::kAccess:
      return fmt::format("{} {:#x}, {} bytes, pc {:#x}",
                         item.access.kind == AccessKind::kRead ? "read" : "write",
                         item.access.address.value(), item.access.size, item.access.pc.value());
    case Tag::kNote:
      return note_text(item.note);
    case Tag::kEnd:
      return fmt::format("end: {}{}{}", to_string(item.end.kind),
                         item.end.status != 0 ? fmt::format(", status {}", item.end.status) : "",
                         item.end.is_written ? "" : " (the stream stops here)");
    case Tag::kMoreWords:
    case Tag::kCodedSequencer:
    case Tag::kReadAndSequencer:
      break;
  }
  return {};
}

}  // namespace deadheat::recording
