// rule: idioms
// claim: pushing with relaxed order leaves the node's contents unordered
// expect: race write@a read@b
#include <atomic>

#include "../order.h"

struct Node {
  int value;
  Node* next;
};
std::atomic<Node*> top{nullptr};
Node nodes[20];
constexpr auto kPush = std::memory_order_relaxed;

static void* pusher(void*) {
  for (Node& node : nodes) {
    node.value = 1;  // @a
    Node* seen = top.load(std::memory_order_relaxed);
    do {
      node.next = seen;  // @a
    } while (!top.compare_exchange_weak(seen, &node, kPush, std::memory_order_relaxed));
  }
  step();
  return nullptr;
}

static void* popper(void*) {
  await(1);
  Node* all = top.exchange(nullptr, std::memory_order_acquire);
  for (; all != nullptr; all = all->next) {  // @b
    use(all->value);  // @b
  }
  return nullptr;
}

int main() { run2(pusher, popper); }
