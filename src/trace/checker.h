// Whether a sequence of events can be a trace at all: an analysis of its own, in front of the others.
//
//  - a lock is taken only when no other thread holds it, and released by the thread that holds it. A thread's
//  calls into untraced
//    code that can reach a location of the lock's name may have released or taken it for the thread: from the
//    moment of such a call it is not known whether the thread holds the lock, until the trace shows that it
//    takes the lock itself, or that another thread does something with it;
//  - a thread is forked before it acts and only once, acts not after its end or after it was joined, begins
//  with `begin` if it
//    has one, and does not fork or join itself;
//  - a read that says its value says that of the last write, if that one says its value too; 0 if there was
//  no write. A read that says its value says also what the next one must see, if nothing was written in
//    between. Where a call into untraced code can reach the location, nothing is known until the next traced
//    write, or the next read after the call that says a value;
//  - calls into untraced code are left in the reverse order of entering.
//
// A trace may end anywhere: with locks held, threads running, calls open. The end of a thread and its being
// joined end its calls. Messages may be received that
// nobody sent (a semaphore that starts with a value).
//
// Cost: O(1) per event, O(sets that can reach the location) at worst for reads with values and for locks that
// untraced code may have taken or released. Streaming; memory per lock, thread, location with a value, open
// call, and for each two of a thread and a set that it has called with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace deadheat {

class TraceChecker {
 public:
  // Deeper nesting of calls than this is refused.
  static constexpr std::size_t kMaxOpenCalls = 1000000;

  // `names` outlives the checker.
  explicit TraceChecker(const Names& names) : names_(names) {}

  // What is wrong with the event, as "expected ..., found ..."; nothing if it may come here.
  std::optional<std::string> on_event(EventIndex index, const Event& event);

 private:
  struct Where {
    EventIndex index;
    std::uint32_t line = 0;
  };
  enum class Life : std::uint8_t { kUnknown, kForked, kRunning, kEnded, kJoined };
  struct Thread {
    Life life = Life::kUnknown;
    Where since;
  };
  struct Call {
    std::uint32_t function;
    std::uint32_t set;
  };
  struct Lock {
    std::uint32_t times = 0;
    ThreadId holder;
    Where taken;
    // The last operation on it, from 1, and the last one of a thread other than `user`.
    ThreadId user;
    std::uint64_t used = 0, used_by_others = 0;
  };
  struct Location {
    std::uint64_t value = 0;
    bool known = true;                      // nothing was written: 0
    bool by_read = false;                   // known from a read
    std::uint32_t line = 0;                 // of that read
    std::uint64_t since = 0;                // index of the last write, or read that said a value, from 1
    std::vector<std::uint32_t> reached_by;  // sets
  };
  struct Set {
    bool seen = false;
    std::uint64_t open = 0;  // calls in progress
    std::uint64_t left = 0;  // index of the last leave, from 1
  };
  struct Calls {
    std::uint64_t open = 0;  // in progress
    std::uint64_t left = 0;  // index of the last leave, from 1
  };

  std::optional<std::string> check_life(Thread& thread, const Event& event, Where here);
  std::optional<std::string> check_lock(const Event& event, Where here);
  std::optional<std::string> check_child(const Event& event, Where here);
  std::optional<std::string> check_value(EventIndex index, const Event& event);
  std::optional<std::string> check_call(EventIndex index, const Event& event);
  void leave(ThreadId thread, const Call& call, EventIndex index);
  void leave_all(ThreadId thread, EventIndex index);
  // Was a call of `thread` that can reach what has this name open at the event `since`, from 1, or later?
  bool has_called(ThreadId thread, std::string_view name, std::uint64_t since);
  Thread& thread(ThreadId id);
  Location& location(ObjectId id);
  std::string thread_name(ThreadId id) const { return "'" + std::string(names_.thread(id)) + "'"; }
  static std::string at(Where where);

  const Names& names_;
  std::vector<Thread> threads_;
  std::unordered_map<std::uint32_t, std::vector<Call>> calls_;  // open ones, by thread
  std::vector<Lock> locks_;
  std::vector<Location> locations_;
  std::vector<Set> sets_;
  std::unordered_map<std::uint64_t, Calls> calls_of_;  // by thread and set
};

// The same source with a checker behind it: read() ends with an error at the first event that cannot be,
// which names `path` and the line (text) or the event's number (binary).
std::unique_ptr<TraceSource> checked(std::unique_ptr<TraceSource> source, std::string path);
Result<std::unique_ptr<TraceSource>> open_checked_trace(const std::string& path,
                                                        const std::string& shown = {});

}  // namespace deadheat
