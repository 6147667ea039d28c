// Data-flow labels through a replay: which earlier reads does a value depend on?
//
// Asked for by opening a world as Variant::kLabelled; otherwise none of this exists, in the compiled code
// neither. The idea is that of LLVM's DataFlowSanitizer: every value of the program has a shadow, its label
// (labels.h), and whatever computes a value computes its label as well. Here the shadows are only those of a
// replay, so there is no shadow memory layout, no wrapper list and no cost for the recorded run.
//
//   registers    the mirrored pass (function_labels.h) gives every value of a function a label next to it:
//                the union of its operands' labels. Calls hand labels on through DhLabels.
//   memory       here: a label per byte, with the value that it belongs to. A read that sees another value
//                than the one that was stored last saw what somebody else wrote (invisible code, or a thread
//                that the replay has not brought so far): that has no label.
//   libraries    the result of a call into invisible code may depend on all its arguments and on all memory
//                that the recording says it read for the program; what it wrote for the program depends on
//                the same, and so do the arguments of functions that it calls back, a new thread's too.
//   addresses    what is read through a pointer depends on the pointer. What is written through one does not:
//                observers are told the label of the address (Access::address_label).
//
// An observer makes a read a source (Observer::source_of) and is told, with labels: reads, writes, conditions
// of branches, targets of indirect calls, arguments of calls into invisible code. A label is an
// over-approximation of the flow of data: it may name a source too many (aggregates and vectors have one
// label, libraries mix their inputs), and misses one only where data goes a way that nobody sees:
//
//   - control: `if (x) y = 1;` gives y no label of x; the branch is told, what follows from it is for the
//     analysis to say
//   - variable arguments, values that longjmp and exceptions carry in registers
//   - memory that invisible code moves with no library function that the runtime knows
//   - registers of inline assembly keep their labels, memory that it writes does not
//
// Cost: a label operation per operation of the program and a map look-up per access. Tested by flow_test.cc,
// construct by construct, and tests/replay/follow.py.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "replay/abi.h"
#include "replay/labels.h"
#include "replay/observer.h"

namespace deadheat::replay {

// Labels of the bytes of memory.
class LabelledMemory {
 public:
  explicit LabelledMemory(Labels& labels) : labels_(labels) {}

  // Of a value of 1 to 8 bytes that was read or is written.
  Label read(Address address, std::uint64_t value, std::uint32_t size);
  void write(Address address, std::uint64_t value, std::uint32_t size, Label label);
  // Of a range with values that nobody knows.
  Label read_range(Address address, std::uint64_t size);
  void write_range(Address address, std::uint64_t size, Label label);
  void copy(Address to, Address from, std::uint64_t size);
  std::size_t pages() const { return pages_.size(); }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  struct Page {
    std::array<Label, kPageBytes> labels{};
    std::array<std::uint8_t, kPageBytes> bytes{};
    std::bitset<kPageBytes> is_any;  // the value is not known
  };
  Page* find(std::uint64_t number);
  void clear(Address address, std::uint64_t size);
  void copy_piece(Address to, Address from, std::uint64_t size);
  // Calls `visit(number of the page, first byte in it, how many, address)` for each page of a range.
  template <class Visit>
  void for_pages(Address address, std::uint64_t size, Visit&& visit);

  Labels& labels_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

// Between the hooks and the observers of a labelled replay; itself the first observer.
class Flow final : public Observer {
 public:
  Flow() : memory_(labels) {}

  Labels labels;

  // An access, without labels: gives it labels, tells `observers`, and notes the labels where mirrored code
  // and memory have them.
  void access(DhReplay& hot, Access access, const std::vector<Observer*>& observers);
  // Invisible code is called; the call ends.
  void begin_call(DhReplay& hot, ThreadId thread, SiteId site, Address target,
                  const std::vector<Observer*>& observers);
  void end_call(DhReplay& hot, ThreadId thread);
  // A function of the program is called back; it has returned.
  Label begin_callback(ThreadId thread);
  void end_callback(const DhReplay& hot, ThreadId thread);
  void copy(Address to, Address from, std::uint64_t size) { memory_.copy(to, from, size); }

  // Observer
  void on_library_access(ThreadId thread, SiteId, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId thread, SiteId, const recording::Sequencer& sequencer) override;
  void on_local(ThreadId, SiteId, Address address, std::uint64_t size) override;

 private:
  struct Call {
    Label label;
    Address freed;  // in it, and no new block yet
    Address moved;  // where realloc has brought a block with its labels
  };
  Call* open_call(ThreadId thread);

  LabelledMemory memory_;
  std::unordered_map<ThreadId, std::vector<Call>> calls_;  // that are open, innermost last
  std::unordered_map<ThreadId, Label> starts_;             // what a thread's start routine is given
};

}  // namespace deadheat::replay
