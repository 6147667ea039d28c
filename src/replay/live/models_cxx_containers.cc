// What libstdc++ has compiled of std::map, std::set, std::list and std::unordered_map: trees, lists, the
// growth of hash tables.
//
// A node of a tree is four words: colour (0 red, 1 black), parent, left, right. The header's parent is the
// root, its left and right are the leftmost and rightmost nodes, and the root's parent is the header. The
// algorithms are the textbook's ("Introduction to Algorithms", Cormen and others, chapter 13), with null
// for leaves.
#include <bits/hashtable_policy.h>

#include <functional>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

enum Field : std::uint64_t { kColour = 0, kParent = 8, kLeft = 16, kRight = 24 };
constexpr std::uint32_t kRed = 0, kBlack = 1;

class Tree {
 public:
  Tree(LiveWorld& live, std::uint64_t header) : live_(live), header_(header) {}

  std::uint64_t get(std::uint64_t node, Field field) const {
    return live_.load_number(Address(node + field), 8);
  }
  void set(std::uint64_t node, Field field, std::uint64_t value) {
    live_.store_number(Address(node + field), value, 8);
  }
  bool is_black(std::uint64_t node) const {
    return node == 0 || live_.load_number(Address(node), 4) == kBlack;
  }
  void paint(std::uint64_t node, std::uint32_t colour) { live_.store_number(Address(node), colour, 4); }
  std::uint64_t root() const { return get(header_, kParent); }
  std::uint64_t most(std::uint64_t node, Field side) const {
    for (std::uint64_t next; (next = get(node, side)) != 0;) node = next;
    return node;
  }

  void insert(std::uint64_t node, std::uint64_t parent, bool is_left) {
    set(node, kParent, parent);
    set(node, kLeft, 0);
    set(node, kRight, 0);
    paint(node, kRed);
    if (parent == header_) {
      set(header_, kParent, node);
      set(header_, kLeft, node);
      set(header_, kRight, node);
    } else {
      set(parent, is_left ? kLeft : kRight, node);
      if (is_left && parent == get(header_, kLeft)) set(header_, kLeft, node);
      if (!is_left && parent == get(header_, kRight)) set(header_, kRight, node);
    }
    while (node != root() && !is_black(get(node, kParent))) {
      std::uint64_t up = get(node, kParent);
      const std::uint64_t grand = get(up, kParent);
      const Field side = up == get(grand, kLeft) ? kLeft : kRight;
      const Field other = side == kLeft ? kRight : kLeft;
      const std::uint64_t uncle = get(grand, other);
      if (!is_black(uncle)) {
        paint(up, kBlack);
        paint(uncle, kBlack);
        paint(grand, kRed);
        node = grand;
        continue;
      }
      if (node == get(up, other)) {
        node = up;
        rotate(node, side);
        up = get(node, kParent);
      }
      paint(up, kBlack);
      paint(grand, kRed);
      rotate(grand, other);
    }
    paint(root(), kBlack);
  }

  // Takes `node` out; it is what the caller then destroys.
  std::uint64_t erase(std::uint64_t node) {
    if (get(header_, kLeft) == node)
      set(header_, kLeft, get(node, kRight) != 0 ? most(get(node, kRight), kLeft) : get(node, kParent));
    if (get(header_, kRight) == node)
      set(header_, kRight, get(node, kLeft) != 0 ? most(get(node, kLeft), kRight) : get(node, kParent));
    // `hole` takes the place where a node is missing; `up` is its parent (`hole` may be null).
    std::uint64_t hole = 0, up = 0;
    bool was_black = is_black(node);
    if (get(node, kLeft) == 0 || get(node, kRight) == 0) {
      hole = get(node, get(node, kLeft) == 0 ? kRight : kLeft);
      up = get(node, kParent);
      put_in_place_of(node, hole);
    } else {
      const std::uint64_t next = most(get(node, kRight), kLeft);
      was_black = is_black(next);
      hole = get(next, kRight);
      if (get(next, kParent) == node) {
        up = next;
      } else {
        up = get(next, kParent);
        put_in_place_of(next, hole);
        set(next, kRight, get(node, kRight));
        set(get(next, kRight), kParent, next);
      }
      put_in_place_of(node, next);
      set(next, kLeft, get(node, kLeft));
      set(get(next, kLeft), kParent, next);
      paint(next, is_black(node) ? kBlack : kRed);
    }
    if (was_black) balance(hole, up);
    return node;
  }

 private:
  void put_in_place_of(std::uint64_t node, std::uint64_t other) {
    const std::uint64_t parent = get(node, kParent);
    if (parent == header_)
      set(header_, kParent, other);
    else
      set(parent, get(parent, kLeft) == node ? kLeft : kRight, other);
    if (other != 0) set(other, kParent, parent);
  }

  // `node` goes down to `side`; its other child takes its place.
  void rotate(std::uint64_t node, Field side) {
    const Field other = side == kLeft ? kRight : kLeft;
    const std::uint64_t child = get(node, other);
    const std::uint64_t inner = get(child, side);
    set(node, other, inner);
    if (inner != 0) set(inner, kParent, node);
    put_in_place_of(node, child);
    set(child, side, node);
    set(node, kParent, child);
  }

  // The paths through `hole` have one black node too few.
  void balance(std::uint64_t hole, std::uint64_t up) {
    while (hole != root() && is_black(hole)) {
      const Field side = hole == get(up, kLeft) ? kLeft : kRight;
      const Field other = side == kLeft ? kRight : kLeft;
      std::uint64_t sibling = get(up, other);
      if (!is_black(sibling)) {
        paint(sibling, kBlack);
        paint(up, kRed);
        rotate(up, side);
        sibling = get(up, other);
      }
      if (is_black(get(sibling, kLeft)) && is_black(get(sibling, kRight))) {
        paint(sibling, kRed);
        hole = up;
        up = get(up, kParent);
        continue;
      }
      if (is_black(get(sibling, other))) {
        paint(get(sibling, side), kBlack);
        paint(sibling, kRed);
        rotate(sibling, other);
        sibling = get(up, other);
      }
      paint(sibling, is_black(up) ? kBlack : kRed);
      paint(up, kBlack);
      if (get(sibling, other) != 0) paint(get(sibling, other), kBlack);
      rotate(up, side);
      break;
    }
    if (hole != 0) paint(hole, kBlack);
  }

  LiveWorld& live_;
  const std::uint64_t header_;
};

// The next node (side: right) or the one before (left).
void walk(ModelCall& call, Field side) {
  const Tree tree(call.live, 0);
  const Field other = side == kRight ? kLeft : kRight;
  std::uint64_t node = call.word(0);
  // Before the end is the rightmost: the header is red, and its own grandparent.
  if (side == kLeft && !tree.is_black(node) && tree.get(node, kParent) != 0 &&
      tree.get(tree.get(node, kParent), kParent) == node)
    return call.result(tree.get(node, kRight));
  if (tree.get(node, side) != 0) return call.result(tree.most(tree.get(node, side), other));
  std::uint64_t up = tree.get(node, kParent);
  while (node == tree.get(up, side)) {
    node = up;
    up = tree.get(up, kParent);
  }
  // From the root there may be nothing on this side: then `node` is the header.
  call.result(tree.get(node, side) != up ? up : node);
}

void do_next(ModelCall& call) { walk(call, kRight); }
void do_previous(ModelCall& call) { walk(call, kLeft); }
// (is left, node, parent, header&)
void do_insert(ModelCall& call) {
  Tree(call.live, call.word(3)).insert(call.word(1), call.word(2), (call.word(0) & 1) != 0);
}
// (node, header&)
void do_erase(ModelCall& call) { call.result(Tree(call.live, call.word(1)).erase(call.word(0))); }

// --- Lists: next, previous

std::uint64_t link(ModelCall& call, std::uint64_t node, unsigned i) {
  return call.live.load_number(Address(node + 8 * i), 8);
}
void set_link(ModelCall& call, std::uint64_t node, unsigned i, std::uint64_t to) {
  call.live.store_number(Address(node + 8 * i), to, 8);
}
// (node, before)
void do_hook(ModelCall& call) {
  const std::uint64_t node = call.word(0), before = call.word(1), last = link(call, before, 1);
  set_link(call, node, 0, before);
  set_link(call, node, 1, last);
  set_link(call, last, 0, node);
  set_link(call, before, 1, node);
}
void do_unhook(ModelCall& call) {
  const std::uint64_t next = link(call, call.word(0), 0), previous = link(call, call.word(0), 1);
  set_link(call, previous, 0, next);
  set_link(call, next, 1, previous);
}
// (before, first, last): moves [first, last) to before `before`
void do_transfer(ModelCall& call) {
  const std::uint64_t before = call.word(0), first = call.word(1), last = call.word(2);
  if (before == last) return;
  const std::uint64_t end = link(call, last, 1), ahead = link(call, first, 1), tail = link(call, before, 1);
  set_link(call, ahead, 0, last);
  set_link(call, last, 1, ahead);
  set_link(call, end, 0, before);
  set_link(call, before, 1, end);
  set_link(call, tail, 0, first);
  set_link(call, first, 1, tail);
}

// The nodes of a list go to another head, which had none or gives its own away at the same time.
void take_nodes(ModelCall& call, std::uint64_t head, std::uint64_t from, std::uint64_t first,
                std::uint64_t last) {
  const bool is_empty = first == from;
  set_link(call, head, 0, is_empty ? head : first);
  set_link(call, head, 1, is_empty ? head : last);
  if (is_empty) return;
  set_link(call, first, 1, head);
  set_link(call, last, 0, head);
}
void do_swap_lists(ModelCall& call) {
  const std::uint64_t a = call.word(0), b = call.word(1);
  const std::uint64_t first_a = link(call, a, 0), last_a = link(call, a, 1);
  const std::uint64_t first_b = link(call, b, 0), last_b = link(call, b, 1);
  take_nodes(call, a, b, first_b, last_b);
  take_nodes(call, b, a, first_a, last_a);
}

// --- Hash tables: this process's own library decides, on a copy of the policy's two words.

std::__detail::_Prime_rehash_policy policy_at(ModelCall& call) {
  const auto bits = static_cast<std::uint32_t>(call.live.load_number(call.address(0), 4));
  float load;
  std::memcpy(&load, &bits, sizeof load);
  std::__detail::_Prime_rehash_policy policy(load);
  policy._M_next_resize = call.live.load_number(Address(call.word(0) + 8), 8);
  return policy;
}
void put_policy(ModelCall& call, const std::__detail::_Prime_rehash_policy& policy) {
  call.live.store_number(Address(call.word(0) + 8), policy._M_next_resize, 8);
}
void do_need_rehash(ModelCall& call) {
  const auto policy = policy_at(call);
  const auto [is_needed, buckets] = policy._M_need_rehash(call.word(1), call.word(2), call.word(3));
  put_policy(call, policy);
  call.result(std::uint64_t{is_needed ? 1u : 0u});
  call.result(std::uint64_t{buckets}, 1);
}
void do_next_buckets(ModelCall& call) {
  const auto policy = policy_at(call);
  const std::size_t buckets = policy._M_next_bkt(call.word(1));
  put_policy(call, policy);
  call.result(std::uint64_t{buckets});
}
void do_hash_bytes(ModelCall& call) {
  const std::string bytes = call.live.load_bytes(call.address(0), call.word(1));
  call.result(std::uint64_t{std::_Hash_bytes(bytes.data(), bytes.size(), call.word(2))});
}

}  // namespace

std::span<const Model> cxx_container_models() {
  static const Model models[] = {
      {"_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", do_next},
      {"_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base", do_next},
      {"_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", do_previous},
      {"_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", do_previous},
      {"_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", do_insert},
      {"_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", do_erase},
      {"_ZNSt8__detail15_List_node_base7_M_hookEPS0_", do_hook},
      {"_ZNSt8__detail15_List_node_base9_M_unhookEv", do_unhook},
      {"_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", do_transfer},
      {"_ZNSt8__detail15_List_node_base4swapERS0_S1_", do_swap_lists},
      {"_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", do_need_rehash},
      {"_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", do_next_buckets},
      {"_ZSt11_Hash_bytesPKvmm", do_hash_bytes},
  };
  return models;
}

}  // namespace deadheat::replay::live
