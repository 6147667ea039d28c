#include "testing/generate.h"

#include <algorithm>
#include <string>
#include <vector>

namespace deadheat::testing {
namespace {

// What the next event may be: the state of a run that is being made up.
struct Run {
  struct Thread {
    bool started = false;
    bool ended = false;
    bool joined = false;
    std::vector<int> held;
    std::vector<int> calls;  // functions entered
  };
  std::vector<Thread> threads;
  std::vector<int> owner;  // of each lock, -1 free
  std::vector<std::uint64_t> memory;
  std::vector<bool> sent;

  Run(int thread_count, int locks, int locations, int messages)
      : threads(static_cast<std::size_t>(thread_count)),
        owner(static_cast<std::size_t>(locks), -1),
        memory(static_cast<std::size_t>(locations), 0),
        sent(static_cast<std::size_t>(messages), false) {}

  void apply(const Event& event) {
    const std::size_t t = event.thread.index();
    const std::size_t o = event.object.index();
    switch (event.kind) {
      case EventKind::kWrite:
        memory[o] = event.value;
        break;
      case EventKind::kAcquire:
        owner[o] = static_cast<int>(t);
        threads[t].held.push_back(static_cast<int>(o));
        break;
      case EventKind::kRelease:
        owner[o] = -1;
        std::erase(threads[t].held, static_cast<int>(o));
        break;
      case EventKind::kFork:
        threads[o].started = true;
        break;
      case EventKind::kEnd:
        threads[t].ended = true;
        break;
      case EventKind::kJoin:
        threads[o].ended = true;
        threads[o].joined = true;
        break;
      case EventKind::kSend:
        sent[o] = true;
        break;
      case EventKind::kEnter:
        threads[t].calls.push_back(static_cast<int>(o));
        break;
      case EventKind::kLeave:
        threads[t].calls.pop_back();
        break;
      default:
        break;
    }
  }
};

std::string site_of(const Event& event, std::size_t number, Sites sites) {
  switch (sites) {
    case Sites::kDistinct:
      return std::to_string(number);
    case Sites::kByAccess:
      return std::to_string(static_cast<int>(event.kind) * 1000 +
                            static_cast<int>(event.thread.value()) * 100 +
                            static_cast<int>(event.object.value() % 100));
    case Sites::kFew:
      return std::to_string((event.thread.value() * 7 + event.object.value() * 3 + number / 3) % 3);
  }
  return "0";
}

void name_everything(Names& names, int threads, int locks, int locations, int messages, int functions) {
  for (int i = 0; i < threads; ++i) names.threads.intern("T" + std::to_string(i));
  for (int i = 0; i < locks; ++i) names.locks.intern("l" + std::to_string(i));
  for (int i = 0; i < locations; ++i) names.locations.intern("x" + std::to_string(i));
  for (int i = 0; i < messages; ++i) names.messages.intern("m" + std::to_string(i));
  for (int i = 0; i < functions; ++i) names.functions.intern("f" + std::to_string(i));
}

Event make_event(EventKind kind, int thread, int object = 0) {
  Event event;
  event.kind = kind;
  event.thread = ThreadId(static_cast<std::uint32_t>(thread));
  event.object = ObjectId(static_cast<std::uint64_t>(object));
  return event;
}

}  // namespace

Trace random_trace(const RandomShape& shape, std::mt19937_64& random) {
  constexpr int kFunctions = 2;
  Trace trace;
  name_everything(trace.names, shape.threads, shape.locks, shape.locations, shape.messages,
                  shape.barrier_pairs ? kFunctions : 0);
  Run run(shape.threads, shape.locks, shape.locations, shape.messages);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  auto push = [&](Event event) {
    event.site = SiteId(trace.names.sites.intern(site_of(event, trace.events.size(), shape.sites)));
    run.apply(event);
    trace.events.push_back(event);
  };

  run.threads[0].started = true;
  if (!shape.forks) {
    for (Run::Thread& thread : run.threads) thread.started = true;
  }
  int attempts = shape.events * 20;
  while (static_cast<int>(trace.events.size()) < shape.events && attempts-- > 0) {
    const int t = below(shape.threads);
    Run::Thread& thread = run.threads[static_cast<std::size_t>(t)];
    if (!thread.started || thread.ended) continue;

    if (below(100) < shape.access_weight && shape.locations > 0) {
      Event event = make_event(below(2) ? EventKind::kWrite : EventKind::kRead, t, below(shape.locations));
      if (shape.values > 0) {
        event.has_value = true;
        event.value = event.kind == EventKind::kWrite ? static_cast<std::uint64_t>(below(shape.values))
                                                      : run.memory[event.object.index()];
      }
      push(event);
      continue;
    }
    switch (below(8)) {
      case 0:
      case 1:
      case 2: {
        if (shape.locks == 0) break;
        const int lock = below(shape.locks);
        if (run.owner[static_cast<std::size_t>(lock)] == -1 &&
            static_cast<int>(thread.held.size()) < shape.max_held) {
          push(make_event(EventKind::kAcquire, t, lock));
          break;
        }
        [[fallthrough]];
      }
      case 3:
        if (!thread.held.empty()) {
          const std::size_t which = shape.lifo_locks ? thread.held.size() - 1 : random() % thread.held.size();
          push(make_event(EventKind::kRelease, t, thread.held[which]));
        }
        break;
      case 4: {
        if (!shape.forks) break;
        const int child = 1 + below(std::max(1, shape.threads - 1));
        if (child >= shape.threads || child == t) break;
        Run::Thread& other = run.threads[static_cast<std::size_t>(child)];
        if (!other.started) {
          push(make_event(EventKind::kFork, t, child));
        } else if (!other.joined && (other.ended || (other.held.empty() && other.calls.empty()))) {
          if (!other.ended) push(make_event(EventKind::kEnd, child));
          push(make_event(EventKind::kJoin, t, child));
        }
        break;
      }
      case 5: {
        if (shape.messages == 0) break;
        const int message = below(shape.messages);
        const bool receive = run.sent[static_cast<std::size_t>(message)] && below(2);
        push(make_event(receive ? EventKind::kReceive : EventKind::kSend, t, message));
        break;
      }
      case 6:
        if (shape.branches) push(make_event(EventKind::kBranch, t));
        break;
      case 7: {
        if (!shape.barrier_pairs) break;
        if (!thread.calls.empty()) {
          push(make_event(EventKind::kLeave, t, thread.calls.back()));
          break;
        }
        Event event = make_event(EventKind::kEnter, t, below(kFunctions));
        std::vector<ObjectId> reach;
        for (int x = 0; x < shape.locations; ++x) {
          if (below(2)) reach.push_back(ObjectId(static_cast<std::uint64_t>(x)));
        }
        event.value = trace.names.reachable.intern(std::move(reach));
        push(event);
        break;
      }
    }
  }
  for (int t = 0; t < shape.threads; ++t) {
    Run::Thread& thread = run.threads[static_cast<std::size_t>(t)];
    while (!thread.calls.empty()) push(make_event(EventKind::kLeave, t, thread.calls.back()));
    while (shape.close_locks && !thread.held.empty())
      push(make_event(EventKind::kRelease, t, thread.held.back()));
  }
  return trace;
}

RandomShape random_shape(std::mt19937_64& random) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  RandomShape shape;
  shape.events = 5 + below(30);
  shape.threads = 2 + below(4);
  shape.locks = below(4);
  shape.locations = 1 + below(3);
  shape.messages = below(3) == 0 ? 1 + below(2) : 0;
  shape.forks = below(3) == 0;
  shape.max_held = 1 + below(3);
  shape.lifo_locks = below(4) != 0;
  shape.close_locks = below(2) == 0;
  shape.access_weight = 30 + below(50);
  shape.sites = static_cast<Sites>(below(3));
  return shape;
}

namespace {

class SmallTraces {
 public:
  SmallTraces(const SmallShape& shape, const std::function<void(const Trace&)>& visit)
      : shape_(shape), visit_(visit) {
    name_everything(trace_.names, shape.threads, shape.locks, shape.locations, shape.messages, 0);
  }

  std::uint64_t run() {
    Run run(shape_.threads, shape_.locks, shape_.locations, shape_.messages);
    run.threads[0].started = true;
    if (!shape_.forks) {
      for (Run::Thread& thread : run.threads) thread.started = true;
    }
    extend(run, 1, 0, 0, 0);
    return count_;
  }

 private:
  // `threads`, `locks`, ...: how many have been named so far; the next new one has the next number.
  void extend(const Run& run, int threads, int locks, int locations, int messages) {
    if (static_cast<int>(trace_.events.size()) == shape_.events) {
      ++count_;
      visit_(trace_);
      return;
    }
    const int known = shape_.forks ? threads : std::min(shape_.threads, threads + 1);
    for (int t = 0; t < known; ++t) {
      const Run::Thread& thread = run.threads[static_cast<std::size_t>(t)];
      if (!thread.started || thread.ended) continue;
      const int named = shape_.forks ? threads : std::max(threads, t + 1);
      for (int x = 0; x < std::min(shape_.locations, locations + 1); ++x) {
        step(run, make_event(EventKind::kRead, t, x), named, locks, std::max(locations, x + 1), messages);
        step(run, make_event(EventKind::kWrite, t, x), named, locks, std::max(locations, x + 1), messages);
      }
      for (int l = 0; l < std::min(shape_.locks, locks + 1); ++l) {
        const int owner = run.owner[static_cast<std::size_t>(l)];
        if (owner == -1)
          step(run, make_event(EventKind::kAcquire, t, l), named, std::max(locks, l + 1), locations,
               messages);
        if (owner == t) step(run, make_event(EventKind::kRelease, t, l), named, locks, locations, messages);
      }
      for (int m = 0; m < std::min(shape_.messages, messages + 1); ++m) {
        step(run, make_event(EventKind::kSend, t, m), named, locks, locations, std::max(messages, m + 1));
        if (run.sent[static_cast<std::size_t>(m)]) {
          step(run, make_event(EventKind::kReceive, t, m), named, locks, locations, messages);
        }
      }
      if (!shape_.forks) continue;
      if (threads < shape_.threads) {
        step(run, make_event(EventKind::kFork, t, threads), threads + 1, locks, locations, messages);
      }
      for (int child = 1; child < threads; ++child) {
        const Run::Thread& other = run.threads[static_cast<std::size_t>(child)];
        if (child != t && other.started && !other.joined && other.held.empty()) {
          step(run, make_event(EventKind::kJoin, t, child), threads, locks, locations, messages);
        }
      }
    }
  }

  void step(const Run& run, Event event, int threads, int locks, int locations, int messages) {
    event.site = SiteId(trace_.names.sites.intern(site_of(event, trace_.events.size(), shape_.sites)));
    Run next = run;
    next.apply(event);
    trace_.events.push_back(event);
    extend(next, threads, locks, locations, messages);
    trace_.events.pop_back();
  }

  const SmallShape& shape_;
  const std::function<void(const Trace&)>& visit_;
  Trace trace_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::uint64_t for_each_small_trace(const SmallShape& shape, const std::function<void(const Trace&)>& visit) {
  return SmallTraces(shape, visit).run();
}

}  // namespace deadheat::testing
