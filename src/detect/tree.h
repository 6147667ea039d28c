// TREE: concurrential equivalence (Rajagopalan, "Fast and Precise On-the-fly Data Race Detection", a thesis,
// chapter 3).
//
// Each thread has a concurrency context: the set of locks it holds and the history of messages it sent and
// received (a fork is a message to the child, a join one from it). For each site, kind and location, the
// history of contexts in which it was accessed is a trie; each context in it holds at most two threads. An
// access is redundant if its context is there with the same thread, or with two others.
//
// What the thesis proves holds where two accesses with equal contexts really have equal order to everything
// else: for a happens-before without lock edges, judged together with locksets, when no thread of three or
// more sends, ends or is joined after its accesses. It does not hold in front of detectors whose
// happens-before has lock edges, and not when edges that leave a thread *after* a dropped access matter;
// tree_test.cc shows both. For those, use `spans`.
//
// Details the thesis leaves open, and what is done here:
//  - contexts are hash-consed in one trie: first the messages in order, then the locks in the order of their
//  numbers, so two
//    sets of locks are equal however they were taken. A lock taken again by its holder is ignored, as in the
//    thesis;
//  - a message is the same symbol for sender and receiver, as in the thesis ("append to their context the
//  unique ID g").
//
// Memory is bounded by the storage: when it is full, contexts that are not known are never redundant, so
// nothing is dropped wrongly. `Storage` provides, in this style so that a runtime without an allocator can
// provide them from fixed arrays:
//
//   static constexpr std::uint32_t kNone;                  no node: the storage is full
//   std::uint32_t child(std::uint32_t node, std::uint64_t symbol);   found or made; kNone if full. Node 0 is
//   the root. TreeVisitors& visitors(std::uint32_t node);            zero at first TreeContext&
//   context(ThreadId thread);
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace deadheat::detect {

// The threads that came by in one context, at most two. Stored as id + 1; 0: none.
struct TreeVisitors {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

struct TreeContext {
  static constexpr int kMaxHeld =
      30;                     // more locks at a time: the thread's accesses are never redundant meanwhile
  std::uint32_t history = 0;  // node of the messages so far; 0: not begun
  std::uint32_t node = 0;     // node of messages and locks
  std::uint32_t held = 0;
  std::uint32_t too_many = 0;          // locks beyond kMaxHeld
  std::uint32_t locks[kMaxHeld] = {};  // sorted
  std::uint16_t depth[kMaxHeld] = {};
};

template <class Storage>
class Tree {
 public:
  explicit Tree(Storage& storage) : storage_(storage) {}

  // Algorithm 2. `is_write`: the kind is part of the place in the history.
  bool redundant(ThreadId thread, SiteId site, bool is_write, ObjectId location) {
    TreeContext& context = this->context(thread);
    if (context.node == Storage::kNone || context.too_many != 0) return false;
    std::uint32_t node =
        storage_.child(0, symbol(kSite, std::uint64_t{site.value()} << 1 | (is_write ? 1 : 0)));
    if (node != Storage::kNone) node = storage_.child(node, symbol(kLocation, location.value()));
    if (node != Storage::kNone) node = storage_.child(node, symbol(kContext, context.node));
    if (node == Storage::kNone) return false;
    TreeVisitors& visitors = storage_.visitors(node);
    const std::uint32_t me = thread.value() + 1;
    if (visitors.first == me || visitors.second == me) return true;
    if (visitors.first == 0) {
      visitors.first = me;
      return false;
    }
    if (visitors.second == 0) {
      visitors.second = me;
      return false;
    }
    return true;
  }

  void acquire(ThreadId thread, std::uint32_t lock) {
    TreeContext& context = this->context(thread);
    std::uint32_t i = 0;
    while (i < context.held && context.locks[i] < lock) ++i;
    if (i < context.held && context.locks[i] == lock) {
      ++context.depth[i];
      return;
    }
    if (context.held == TreeContext::kMaxHeld) {
      ++context.too_many;
      return;
    }
    for (std::uint32_t k = context.held++; k > i; --k) {
      context.locks[k] = context.locks[k - 1];
      context.depth[k] = context.depth[k - 1];
    }
    context.locks[i] = lock;
    context.depth[i] = 1;
    find_node(context);
  }

  void release(ThreadId thread, std::uint32_t lock) {
    TreeContext& context = this->context(thread);
    std::uint32_t i = 0;
    while (i < context.held && context.locks[i] != lock) ++i;
    if (i == context.held) {
      if (context.too_many > 0) --context.too_many;
      return;
    }
    if (--context.depth[i] > 0) return;
    --context.held;
    for (; i < context.held; ++i) {
      context.locks[i] = context.locks[i + 1];
      context.depth[i] = context.depth[i + 1];
    }
    find_node(context);
  }

  // The thread sent or received the message with this number.
  void message(ThreadId thread, std::uint64_t number) {
    TreeContext& context = this->context(thread);
    if (context.history != Storage::kNone)
      context.history = storage_.child(context.history, symbol(kMessage, number));
    find_node(context);
  }

 private:
  // Symbols of different meaning never meet at one node, but a mark costs nothing and keeps the trie
  // readable.
  enum Mark : std::uint64_t { kSite, kLocation, kContext, kMessage, kLock, kStart };
  static std::uint64_t symbol(Mark mark, std::uint64_t number) { return number << 3 | mark; }

  TreeContext& context(ThreadId thread) {
    TreeContext& context = storage_.context(thread);
    if (context.history == 0) {
      context.history = storage_.child(0, symbol(kStart, 0));
      find_node(context);
    }
    return context;
  }

  void find_node(TreeContext& context) {
    context.node = context.history;
    for (std::uint32_t i = 0; i < context.held && context.node != Storage::kNone; ++i) {
      context.node = storage_.child(context.node, symbol(kLock, context.locks[i]));
    }
  }

  Storage& storage_;
};

}  // namespace deadheat::detect
