// rule: idioms
// claim: a lock-free stack with release push and acquire pop is correct
// expect: nothing
#include <atomic>

#include "../order.h"

struct Node {
  int value;
  Node* next;
};
std::atomic<Node*> top{nullptr};
Node nodes[20];
constexpr auto kPush = std::memory_order_release;

static void* pusher(void*) {
  for (Node& node : nodes) {
    node.value = 1;
    Node* seen = top.load(std::memory_order_relaxed);
    do {
      node.next = seen;
    } while (!top.compare_exchange_weak(seen, &node, kPush, std::memory_order_relaxed));
  }
  step();
  return nullptr;
}

static void* popper(void*) {
  await(1);
  Node* all = top.exchange(nullptr, std::memory_order_acquire);
  for (; all != nullptr; all = all->next) {
    use(all->value);
  }
  return nullptr;
}

int main() { run2(pusher, popper); }
