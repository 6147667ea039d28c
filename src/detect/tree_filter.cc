#include "detect/tree_filter.h"

#include <algorithm>

namespace deadheat::detect {
namespace {

// Numbers of the messages that stand for forks, joins and sends.
std::uint64_t fork_message(std::uint64_t child) { return child * 3; }
std::uint64_t join_message(std::uint64_t child) { return child * 3 + 1; }
std::uint64_t sent_message(std::uint64_t message) { return message * 3 + 2; }

}  // namespace

TreeStorage::TreeStorage(std::uint32_t limit) : limit_(limit), edges_(64), visitors_(1) {}

TreeStorage::Edge& TreeStorage::slot(std::uint32_t node, std::uint64_t symbol) {
  const std::size_t mask = edges_.size() - 1;
  const std::uint64_t mixed = (symbol * 0x9E3779B97F4A7C15ull ^ node) * 0xBF58476D1CE4E5B9ull;
  std::size_t i = (mixed ^ mixed >> 32) & mask;
  while (edges_[i].to != 0 && (edges_[i].from != node || edges_[i].symbol != symbol)) i = (i + 1) & mask;
  return edges_[i];
}

std::uint32_t TreeStorage::child(std::uint32_t node, std::uint64_t symbol) {
  Edge* edge = &slot(node, symbol);
  if (edge->to != 0) return edge->to;
  if (visitors_.size() >= limit_) {
    ++refused_;
    return kNone;
  }
  if (visitors_.size() * 2 > edges_.size()) {
    grow();
    edge = &slot(node, symbol);
  }
  const std::uint32_t made = static_cast<std::uint32_t>(visitors_.size());
  *edge = Edge{symbol, node, made};
  visitors_.emplace_back();
  return made;
}

void TreeStorage::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.to != 0) slot(edge.from, edge.symbol) = edge;
  }
}

std::uint64_t TreeStorage::bytes() const {
  return edges_.capacity() * sizeof(Edge) + visitors_.capacity() * sizeof(TreeVisitors) +
         contexts_.capacity() * sizeof(TreeContext);
}

void TreeFilter::on_event(EventIndex index, const Event& event) {
  const std::uint32_t object = static_cast<std::uint32_t>(event.object.value());
  switch (event.kind) {
    case EventKind::kRead:
    case EventKind::kWrite:
      ++seen_;
      if (tree_.redundant(event.thread, event.site, event.kind == EventKind::kWrite, event.object)) {
        ++dropped_;
        return;
      }
      break;
    case EventKind::kAcquire:
      tree_.acquire(event.thread, object);
      break;
    case EventKind::kRelease:
      tree_.release(event.thread, object);
      break;
    case EventKind::kFork:
      tree_.message(event.thread, fork_message(object));
      tree_.message(ThreadId(object), fork_message(object));
      break;
    case EventKind::kJoin:
      tree_.message(ThreadId(object), join_message(object));
      tree_.message(event.thread, join_message(object));
      break;
    case EventKind::kSend:
    case EventKind::kReceive:
      tree_.message(event.thread, sent_message(event.object.value()));
      break;
    default:
      break;
  }
  pass(index, event);
}

Statistics TreeFilter::statistics() const {
  return {{"accesses", seen_},
          {"dropped", dropped_},
          {"nodes", storage_.nodes()},
          {"refused when full", storage_.refused()}};
}

}  // namespace deadheat::detect
