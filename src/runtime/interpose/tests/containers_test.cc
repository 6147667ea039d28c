// Trees and lists: what is done here is what the library does, node for node, and what is told is what is
// done.
#include <dlfcn.h>
#include <stdint.h>

#include <random>
#include <set>
#include <vector>

#include "runtime/interpose/tests/fake_lane.h"

namespace {

struct Node {
  int color;  // 0: red
  Node* parent;
  Node* left;
  Node* right;
};
struct Link {
  Link* next;
  Link* previous;
};

#define TREE_FUNCTIONS(F)                                                                            \
  F(Node*, increment, "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", (Node*))                    \
  F(const Node*, const_increment, "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base", (const Node*)) \
  F(Node*, decrement, "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", (Node*))                    \
  F(const Node*, const_decrement, "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", (const Node*)) \
  F(void, insert, "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",               \
    (bool, Node*, Node*, Node*))                                                                     \
  F(Node*, erase, "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", (Node*, Node*))    \
  F(void, hook, "_ZNSt8__detail15_List_node_base7_M_hookEPS0_", (Link*, Link*))                      \
  F(void, unhook, "_ZNSt8__detail15_List_node_base9_M_unhookEv", (Link*))                            \
  F(void, transfer, "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", (Link*, Link*, Link*))   \
  F(void, reverse, "_ZNSt8__detail15_List_node_base10_M_reverseEv", (Link*))                         \
  F(void, swap, "_ZNSt8__detail15_List_node_base4swapERS0_S1_", (Link*, Link*))

// Ours, by name, and the library's.
struct Functions {
#define MEMBER(result, name, symbol, parameters) result(*name) parameters;
  TREE_FUNCTIONS(MEMBER)
};
#define OURS(result, name, symbol, parameters) extern "C" result our_##name parameters __asm__(symbol);
TREE_FUNCTIONS(OURS)
#ifdef TEST_IS_STATIC
#define THEIRS(result, name, symbol, parameters) \
  extern "C" result their_##name parameters __asm__("__real_" symbol);
TREE_FUNCTIONS(THEIRS)
#endif

Functions ours() {
#define OUR_MEMBER(result, name, symbol, parameters) our_##name,
  return {TREE_FUNCTIONS(OUR_MEMBER)};
}
Functions theirs() {
#ifdef TEST_IS_STATIC
#define THEIR_MEMBER(result, name, symbol, parameters) their_##name,
#else
#define THEIR_MEMBER(result, name, symbol, parameters) \
  reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, symbol)),
#endif
  return {TREE_FUNCTIONS(THEIR_MEMBER)};
}

// A tree of numbers: element i is nodes[i + 1], the header nodes[0].
class Tree {
 public:
  Tree(const Functions& functions, size_t count) : f_(functions), nodes_(count + 1) {
    nodes_[0].left = nodes_[0].right = &nodes_[0];
  }
  void insert(size_t key) {
    Node* parent = header();
    bool left = true;
    for (Node* at = header()->parent; at != nullptr;) {
      parent = at;
      left = key + 1 < index(at);
      at = left ? at->left : at->right;
    }
    Node* const node = &nodes_[key + 1];
    *node = {7, node, node, node};
    f_.insert(left, node, parent, header());
  }
  void erase(size_t key) {
    Node* const node = &nodes_[key + 1];
    CHECK(f_.erase(node, header()) == node);
    *node = {};
  }
  // Every link as a number, so that two trees can be compared.
  std::vector<size_t> shape() {
    std::vector<size_t> all;
    for (Node& node : nodes_) {
      all.push_back(static_cast<size_t>(node.color));
      for (Node* link : {node.parent, node.left, node.right})
        all.push_back(link != nullptr ? index(link) : SIZE_MAX);
    }
    return all;
  }
  std::vector<size_t> forwards() {
    std::vector<size_t> keys;
    for (Node* at = header()->left; at != header(); at = f_.increment(at)) {
      CHECK(f_.const_increment(at) == f_.increment(at));
      keys.push_back(index(at) - 1);
    }
    return keys;
  }
  std::vector<size_t> backwards() {
    std::vector<size_t> keys;
    if (header()->parent == nullptr) return keys;
    for (Node* at = header();;) {
      CHECK(f_.const_decrement(at) == f_.decrement(at));
      at = f_.decrement(at);
      keys.insert(keys.begin(), index(at) - 1);
      if (at == header()->left) return keys;
    }
  }
  // Red nodes have black children, and all ways down have as many black nodes.
  void check_colors() {
    CHECK(header()->color == 0);
    if (header()->parent != nullptr) CHECK(header()->parent->color == 1);
    black_height(header()->parent, header());
  }

 private:
  Node* header() { return &nodes_[0]; }
  size_t index(const Node* node) { return static_cast<size_t>(node - nodes_.data()); }
  int black_height(Node* node, Node* parent) {
    if (node == nullptr) return 0;
    CHECK(node->parent == parent);
    CHECK(parent == header() || parent->color == 1 || node->color == 1);
    int const left = black_height(node->left, node);
    CHECK(left == black_height(node->right, node));
    return left + node->color;
  }

  Functions f_;
  std::vector<Node> nodes_;
};

void test_trees(unsigned seed, size_t count, int steps) {
  Tree mine(ours(), count), library(theirs(), count);
  std::set<size_t> keys;
  std::mt19937 random(seed);
  for (int step = 0; step < steps; ++step) {
    size_t const key = random() % count;
    // Grows, then shrinks, then whatever comes.
    bool const grow = step < steps / 3 ? random() % 4 != 0 : step < steps * 2 / 3 ? random() % 4 == 0 : true;
    if (keys.count(key) != 0) {
      if (grow && step < steps * 2 / 3) continue;
      keys.erase(key);
      mine.erase(key);
      library.erase(key);
    } else {
      if (!grow) continue;
      keys.insert(key);
      mine.insert(key);
      library.insert(key);
    }
    mine.check_colors();
    CHECK(mine.shape() == library.shape());
    if (step % 16 != 0 && count > 8) continue;
    std::vector<size_t> const sorted(keys.begin(), keys.end());
    CHECK(mine.forwards() == sorted && mine.backwards() == sorted);
    CHECK(library.forwards() == sorted && library.backwards() == sorted);
  }
}

// Rings of the same nodes in two memories.
struct Rings {
  static constexpr size_t kNodes = 12;
  static constexpr size_t kHeaders = 3;
  explicit Rings(const Functions& functions) : f(functions) {
    for (Link& link : nodes) link = {nullptr, nullptr};
    for (size_t i = 0; i < kHeaders; ++i) nodes[i] = {&nodes[i], &nodes[i]};
  }
  std::vector<size_t> shape() {
    std::vector<size_t> all;
    for (Link& link : nodes) {
      for (Link* to : {link.next, link.previous})
        all.push_back(to != nullptr ? static_cast<size_t>(to - nodes) : SIZE_MAX);
    }
    return all;
  }
  // One operation, the same in both for the same numbers.
  void step(unsigned what, size_t a, size_t b, size_t from, size_t to) {
    Link* const list = &nodes[a % kHeaders];
    Link* const node = &nodes[kHeaders + b % (kNodes - kHeaders)];
    switch (what % 5) {
      case 0:
        if (node->next == nullptr) f.hook(node, list);
        return;
      case 1:
        if (node->next == nullptr) return;
        f.unhook(node);
        *node = {nullptr, nullptr};
        return;
      case 2:
        f.reverse(list);
        return;
      case 3:
        if (a % kHeaders != b % kHeaders) f.swap(list, &nodes[b % kHeaders]);
        return;
      case 4: {
        // Some part of one list, before the beginning of another or of the same.
        Link* const source = &nodes[b % kHeaders];
        size_t size = 0;
        for (Link* at = source->next; at != source; at = at->next) ++size;
        size_t const begin = from % (size + 1), end = begin + to % (size + 1 - begin);
        if (begin == end || (source == list && begin == 0)) return;
        Link* first = source->next;
        for (size_t i = 0; i < begin; ++i) first = first->next;
        Link* last = first;
        for (size_t i = begin; i < end; ++i) last = last->next;
        f.transfer(list->next, first, last);
        return;
      }
    }
  }
  Functions f;
  Link nodes[kNodes];
};

void test_lists() {
  Rings mine(ours()), library(theirs());
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    unsigned const what = random();
    size_t const a = random(), b = random(), from = random(), to = random();
    mine.step(what, a, b, from, to);
    library.step(what, a, b, from, to);
    CHECK(mine.shape() == library.shape());
  }
}

// What the lane hears of it: fields, and nothing of walks but reads.
void test_what_is_told() {
  Node header = {0, nullptr, &header, &header}, one = {}, two = {};
  record_name(&header, sizeof header, "header");
  record_name(&one, sizeof one, "one");
  record_name(&two, sizeof two, "two");
  EXPECT(our_insert(true, &one, &header, &header),
         "write one 4; write one+8 8; write one+16 8; write one+24 8; write header+8 8; write header+16 8; "
         "write header+24 8; read header+8 8; read header+8 8; read one 4; write one 4");
  EXPECT(
      our_insert(false, &two, &one, &header),
      "write two 4; write two+8 8; write two+16 8; write two+24 8; write one+24 8; read header+24 8; write "
      "header+24 8; read header+8 8; read two+8 8; read one 4; read header+8 8; read one 4");
  EXPECT(CHECK(our_increment(&one) == &two), "read one+24 8; read two+16 8");
  EXPECT(CHECK(our_const_decrement(&two) == &one),
         "read two 4; read two+8 8; read one+8 8; read two+16 8; read two+8 8; read one+16 8");
  EXPECT(
      our_erase(&two, &header),
      "read two+8 8; read two+16 8; read two+24 8; read two 4; read header+8 8; read one+16 8; write one+24 "
      "8; read header+16 8; read header+24 8; write header+24 8");
  record_forget_names();

  Link list = {&list, &list}, node = {};
  record_name(&list, sizeof list, "list");
  record_name(&node, sizeof node, "node");
  EXPECT(our_hook(&node, &list), "read list+8 8; write list 8; write node+8 8; write node 8; write list+8 8");
  EXPECT(our_unhook(&node), "read node+8 8; read node 8; write list 8; write list+8 8");
}

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 200; ++seed) test_trees(seed, 1 + seed % 8, 60);
  for (unsigned seed = 0; seed < 5; ++seed) test_trees(seed, 300, 3000);
  test_lists();
  test_what_is_told();
  return 0;
}
