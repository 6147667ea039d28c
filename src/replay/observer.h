// Observers of a replay: what happened, as it happens.
//
// An analysis is a class with one method per kind of event; several may watch one replay. All events of one
// thread come in its order; threads are interleaved so that sequencers come in the order of their numbers,
// which is the order in which they happened. Between two sequencers of its own a thread's events may come
// before or after those of other threads' regions that overlap it.
#pragma once

#include <cstdint>
#include <span>

#include "base/strong_id.h"
#include "recording/item.h"
#include "replay/labels.h"

namespace deadheat::replay {

using recording::Address;

struct Access {
  ThreadId thread;
  SiteId site;
  Address address;
  std::uint32_t size;   // 1 to 8 bytes: larger accesses come in pieces, copies word by word
  std::uint64_t value;  // read or about to be written, zero-extended
  bool is_write;
  bool is_atomic;
  bool is_sequenced =
      false;  // an atomic whose sequencer came before it; a load that teaches nothing has none
  // In a labelled replay (flow.h): what the value depends on, and what its address does. A read's label
  // includes its address's, and the sources that it is itself.
  Label label{};
  Label address_label{};
};

// A word of an invisible call's arguments.
struct CallWord {
  std::uint64_t word = 0;
  bool is_pointer = false;  // by its type
};

// A function of the program.
struct FunctionId {
  std::uint32_t instance = 0;
  std::uint32_t index = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  virtual void on_thread_begin(ThreadId) {}
  virtual void on_thread_end(ThreadId, const recording::End&) {}
  virtual void on_access(const Access&) {}
  // Made by a library call for the program; `site` is the call.
  virtual void on_library_access(ThreadId, SiteId, const recording::LibraryAccess&) {}
  // The region before it is verified. Allocations, locks, atomics, threads: all that synchronises. An
  // atomic's own accesses follow (Access::is_sequenced).
  virtual void on_sequencer(ThreadId, SiteId, const recording::Sequencer&) {}
  // A local whose address the code uses, at `site`, begins its life; its life ends (local_lives.h). Locals of
  // frames that were left by an exception or a jump have no end.
  virtual void on_local(ThreadId, SiteId, Address, std::uint64_t /*size*/) {}
  virtual void on_local_end(ThreadId, SiteId, Address, std::uint64_t /*size*/) {}
  virtual void on_note(ThreadId, SiteId, const recording::Note&) {}
  virtual void on_callback(ThreadId, const recording::Callback&) {}
  virtual void on_callback_end(ThreadId) {}
  // Only if wants_calls(): a function of the program is entered, called at `site`; invisible code is called.
  virtual void on_enter(ThreadId, FunctionId, SiteId) {}
  virtual void on_invisible_call(ThreadId, Address, SiteId) {}
  // Behind it: what it was given. And its end, however it comes: by a return, an exception or a jump.
  virtual void on_invisible_arguments(ThreadId, SiteId, std::span<const CallWord>) {}
  virtual void on_invisible_end(ThreadId) {}
  virtual bool wants_calls() const { return false; }

  // In a labelled replay (Variant::kLabelled, flow.h) only. A read that an analysis wants to follow gets a
  // label (World::labels): asked for every read, before on_access.
  virtual Label source_of(const Access&) { return {}; }
  // Control depends on a labelled value: the condition of a branch or switch, the target of an indirect call.
  virtual void on_branch(ThreadId, SiteId, Label) {}
  // Behind on_invisible_call: a label for each argument, one of them at least is not 0.
  virtual void on_labelled_call(ThreadId, SiteId, Address, std::span<const Label>) {}
};

}  // namespace deadheat::replay
