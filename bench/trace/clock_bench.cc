#include "clock_bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "detect/clocks.h"
#include "trace/trace.h"

namespace deadheat::bench {
namespace {

using Row = std::vector<std::uint32_t>;

// A vector per thread and per lock; every edge copies or joins all of it.
class PlainClocks {
 public:
  PlainClocks(std::size_t threads, std::size_t locks)
      : threads_(threads, Row(threads, 0)), locks_(locks, Row(threads, 0)) {
    for (std::size_t t = 0; t < threads; ++t) threads_[t][t] = 1;
  }
  void acquire(std::size_t t, std::size_t l) { join(threads_[t], locks_[l]); }
  void release(std::size_t t, std::size_t l) {
    locks_[l] = threads_[t];
    ++threads_[t][t];
  }
  void fork(std::size_t t, std::size_t child) {
    join(threads_[child], threads_[t]);
    ++threads_[t][t];
  }
  std::uint32_t at(std::size_t t, std::size_t u) const { return threads_[t][u]; }

 private:
  static void join(Row& to, const Row& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
  }
  std::vector<Row> threads_;
  std::vector<Row> locks_;
};

class SharedCopies {
 public:
  SharedCopies(std::size_t, std::size_t) {}
  void acquire(std::size_t t, std::size_t l) { sync(EventKind::kAcquire, t, l); }
  void release(std::size_t t, std::size_t l) { sync(EventKind::kRelease, t, l); }
  void fork(std::size_t t, std::size_t child) { sync(EventKind::kFork, t, child); }
  std::uint32_t at(std::size_t t, std::size_t u) {
    return clocks_.time(ThreadId(static_cast<std::uint32_t>(t)))
        .at(clocks_.slots().of(ThreadId(static_cast<std::uint32_t>(u))))
        .value();
  }

 private:
  void sync(EventKind kind, std::size_t t, std::size_t object) {
    Event event;
    event.kind = kind;
    event.thread = ThreadId(static_cast<std::uint32_t>(t));
    event.object = ObjectId(object);
    clocks_.on_sync(event);
  }
  detect::SyncClocks clocks_;
};

// "A Tree Clock Data Structure for Causal Orderings in Concurrent Executions" (Mathur, Tunc, Pavlogiannis,
// Viswanathan): who was learned from whom, and when, so that a join visits only what is new.
class TreeClock {
 public:
  static constexpr std::int32_t kNone = -1;
  explicit TreeClock(std::size_t threads) : nodes_(threads) {}

  void start(std::int32_t thread) {
    root_ = thread;
    nodes_[static_cast<std::size_t>(thread)].clock = 1;
  }
  std::uint32_t at(std::size_t thread) const { return nodes_[thread].clock; }
  void tick() { ++node(root_).clock; }

  void join(const TreeClock& other) {
    if (other.root_ == kNone || other.node(other.root_).clock <= node(other.root_).clock) return;
    stack_.clear();
    updated(other, other.root_, kNone);
    detach();
    attach(other);
    Node& learned = node(other.root_);
    learned.learned_at = node(root_).clock;
    push_child(other.root_, root_);
  }

  // REQUIRES: this knows nothing that `other` does not.
  void monotone_copy(const TreeClock& other) {
    if (root_ == kNone) {
      *this = other;
      return;
    }
    stack_.clear();
    updated(other, other.root_, root_);
    detach();
    attach(other);
    root_ = other.root_;
    node(root_).parent = kNone;
  }

 private:
  struct Node {
    std::uint32_t clock = 0;
    std::uint32_t learned_at = 0;  // the parent's clock then
    std::int32_t parent = kNone;
    std::int32_t first = kNone;  // children, most recently learned first
    std::int32_t next = kNone;
    std::int32_t previous = kNone;
  };
  Node& node(std::int32_t thread) { return nodes_[static_cast<std::size_t>(thread)]; }
  const Node& node(std::int32_t thread) const { return nodes_[static_cast<std::size_t>(thread)]; }

  void updated(const TreeClock& other, std::int32_t from, std::int32_t old_root) {
    const Node& theirs = other.node(from);
    for (std::int32_t child = theirs.first; child != kNone; child = other.node(child).next) {
      const Node& candidate = other.node(child);
      if (node(child).clock < candidate.clock) {
        updated(other, child, old_root);
        continue;
      }
      if (child == old_root) stack_.push_back(child);
      if (candidate.learned_at <= node(from).clock) break;
    }
    stack_.push_back(from);
  }

  void detach() {
    for (const std::int32_t thread : stack_) {
      Node& mine = node(thread);
      if (mine.parent == kNone) continue;
      if (mine.previous == kNone) {
        node(mine.parent).first = mine.next;
      } else {
        node(mine.previous).next = mine.next;
      }
      if (mine.next != kNone) node(mine.next).previous = mine.previous;
      mine.parent = mine.next = mine.previous = kNone;
    }
  }

  void attach(const TreeClock& other) {
    while (!stack_.empty()) {
      const std::int32_t thread = stack_.back();
      stack_.pop_back();
      const Node& theirs = other.node(thread);
      Node& mine = node(thread);
      mine.clock = theirs.clock;
      if (theirs.parent != kNone && thread != other.root_) {
        mine.learned_at = theirs.learned_at;
        push_child(thread, theirs.parent);
      }
    }
  }

  void push_child(std::int32_t child, std::int32_t parent) {
    Node& mine = node(child);
    Node& above = node(parent);
    mine.parent = parent;
    mine.previous = kNone;
    mine.next = above.first;
    if (above.first != kNone) node(above.first).previous = child;
    above.first = child;
  }

  std::int32_t root_ = kNone;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> stack_;
};

class TreeClocks {
 public:
  TreeClocks(std::size_t threads, std::size_t locks)
      : threads_(threads, TreeClock(threads)), locks_(locks, TreeClock(threads)) {
    for (std::size_t t = 0; t < threads; ++t) threads_[t].start(static_cast<std::int32_t>(t));
  }
  void acquire(std::size_t t, std::size_t l) { threads_[t].join(locks_[l]); }
  void release(std::size_t t, std::size_t l) {
    locks_[l].monotone_copy(threads_[t]);
    threads_[t].tick();
  }
  void fork(std::size_t t, std::size_t child) {
    threads_[child].join(threads_[t]);
    threads_[t].tick();
  }
  std::uint32_t at(std::size_t t, std::size_t u) const { return threads_[t].at(u); }

 private:
  std::vector<TreeClock> threads_;
  std::vector<TreeClock> locks_;
};

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6;
}

template <class Clocks>
double run(Clocks& clocks, const std::vector<Event>& events) {
  const double start = cpu_seconds();
  for (const Event& event : events) {
    const std::size_t thread = event.thread.index();
    const std::size_t object = event.object.index();
    if (event.kind == EventKind::kAcquire) clocks.acquire(thread, object);
    if (event.kind == EventKind::kRelease) clocks.release(thread, object);
    if (event.kind == EventKind::kFork) clocks.fork(thread, object);
  }
  return cpu_seconds() - start;
}

}  // namespace

void compare_clocks(const std::string& path) {
  Result<Trace> trace = read_trace(path);
  if (!trace.ok()) {
    std::fprintf(stderr, "bench_trace: %s\n", trace.error().message.c_str());
    std::exit(2);
  }
  std::vector<Event> events;
  for (const Event& event : trace->events) {
    if (!is_access(event.kind)) events.push_back(event);
  }
  const std::size_t threads = trace->names.threads.size();
  const std::size_t locks = trace->names.locks.size();
  PlainClocks plain(threads, locks);
  SharedCopies shared(threads, locks);
  TreeClocks tree(threads, locks);
  const double seconds[] = {run(plain, events), run(shared, events), run(tree, events)};
  for (std::size_t t = 0; t < threads; ++t) {
    for (std::size_t u = 0; u < threads; ++u) {
      if (plain.at(t, u) == shared.at(t, u) && plain.at(t, u) == tree.at(t, u)) continue;
      std::fprintf(stderr, "bench_trace: clocks disagree on what thread %zu knows of %zu: %u, %u, %u\n", t, u,
                   plain.at(t, u), shared.at(t, u), tree.at(t, u));
      std::exit(1);
    }
  }
  const double millions = static_cast<double>(events.size()) / 1e6;
  std::printf("| %zu | %zu | %zu | %.1f | %.1f | %.1f |\n", threads, locks, events.size(),
              millions / seconds[0], millions / seconds[1], millions / seconds[2]);
  std::fflush(stdout);
}

}  // namespace deadheat::bench
