// Both orders of two accesses: the primitive that judging a race stands on ("Automatically Classifying Benign
// and Harmful Data Races Using Replay Analysis", Narayanasamy and others, section 4.2).
//
//   Result<BothOrders> orders = run_both_orders(reader, {ThreadId(1), 12}, {ThreadId(2), 9}, {});
//
// The recording is replayed until both threads stand before their accesses, which the recorded order must
// allow: two accesses that race are in regions that overlap. Then the process is forked twice: in one child
// the first thread makes its access and then the second, in the other the second and then the first. Each
// child is a live world (live_world.h) and runs on from there by itself, on code that the recording never
// reached too; what became of it comes back over a pipe.
//
// Where it departs from the paper: the paper's virtual processor stops at memory or code that the log does
// not know, and compares at the end of the two regions. Here the memory image of all threads stands in for
// what one thread's log does not know, all of the program's code can be run, and a world goes on to the
// program's end if it can; the state at the end of the regions is kept as well.
#pragma once

#include "recording/reader.h"
#include "replay/live/live_world.h"
#include "replay/live/outcome.h"

namespace deadheat::replay::live {

struct Orders {
  LiveResult first_second;
  LiveResult second_first;
  std::string first_place;  // where the accesses are
  std::string second_place;
  // Reads, made by others while the first thread already stood still, that saw something else than memory
  // held: the second thread's past knows of the first one's future. Then neither order is quite what can
  // happen.
  std::uint64_t strange_reads = 0;
  double replay_seconds = 0;  // of the processor, up to the stops
  // Bytes that were taken from what the recording shows later (foresight.h), because an order needed some.
  std::uint64_t foreseen_bytes = 0;

  // The same outcome, code, text and output.
  bool have_same_outcome() const;
  // The same memory when both regions had ended.
  bool have_same_regions() const;
  // Same in every way: outcome and memory at the end.
  bool do_converge() const;
};

// REQUIRES: no other replay is running in this process. An error: the recording is damaged, diverges, or the
// stops cannot be reached together.
Result<Orders> run_both_orders(const recording::Reader& recording, Stop first, Stop second,
                               const LiveOptions& options);

}  // namespace deadheat::replay::live
