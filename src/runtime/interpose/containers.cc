// The nodes of std::map, set, multimap, multiset and list.
//
// The templates of these containers are compiled into the program and seen there. What does not depend on the
// element is compiled into libstdc++: linking a node into a tree or a list, taking it out, going on to the
// next node of a tree. Those accesses are most of what a container does to its own memory. Unseen, an
// insertion in one thread and a search in another were ordered by nobody and reported by nobody.
//
// These functions are short and fixed by the layout of the nodes, which is part of the library's ABI. So they
// are not called and guessed at, but done here, and every field that is read or written is told at that
// moment: neither more nor less. (To tell them around the real call would take the same search twice: what is
// written depends on what is read.) That also serves programs that have the library linked in statically,
// where there is no real function to be called.
//
// The trees are red-black trees as in Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms,
// chapter 13, with two departures that the library's templates rely on. A node is taken out by relinking,
// never by moving elements, since iterators point at nodes. And there is a header that is no element: its
// parent is the root, its left and right the first and the last node; the root's parent is the header; it is
// red, so that the way back from the header is found. The shape is the library's after every operation; the
// test compares node for node (tests/containers_test.cc).
//
// Going on reads, and only reads: threads may walk through one container together.
//
// Who calls counts. A library that was not built with Deadheat tells nothing of its own half of the work, and
// may order its threads in ways that are not seen; its containers are its own business.
//
// Cost: a step through a map is about three fields, each a check as the program's own loads are.
#include "runtime/interpose/interpose.h"

using namespace deadheat;
using namespace deadheat::interpose;

#ifndef DEADHEAT_LANE_MONITOR
__attribute__((weak)) bool deadheat::lane::code_is_seen(Pc) { return true; }
#endif

namespace {

// Of one call: whom the accesses belong to, if anybody is to be told.
class Teller {
 public:
  explicit Teller(lane::Pc pc) : pc_(pc), tells_(lane::code_is_seen(pc)) {}

  template <class T>
  T get(const T& field) const {
    if (tells_) lane::read(&field, sizeof field, pc_);
    return field;
  }
  template <class T>
  void set(T& field, T value) const {
    if (tells_) lane::write(&field, sizeof field, pc_);
    field = value;
  }

 private:
  lane::Pc pc_;
  bool tells_;
};

// --- Trees

enum Color : uint32_t { kRed, kBlack };
enum Side : unsigned { kLeft, kRight };
constexpr Side kSides[] = {kLeft, kRight};
constexpr Side other(Side side) { return side == kLeft ? kRight : kLeft; }

struct TreeNode {
  Color color;
  TreeNode* parent;
  TreeNode* child[2];
};
static_assert(sizeof(TreeNode) == 32);

// The first, or the last, of the nodes below and with `node`.
TreeNode* outermost(const Teller& tell, TreeNode* node, Side side) {
  while (TreeNode* const next = tell.get(node->child[side])) node = next;
  return node;
}

// The node after `node` (kRight) or before it (kLeft).
TreeNode* neighbour(const Teller& tell, TreeNode* node, Side side) {
  if (TreeNode* const below = tell.get(node->child[side])) return outermost(tell, below, other(side));
  TreeNode* above = tell.get(node->parent);
  while (node == tell.get(above->child[side])) {
    node = above;
    above = tell.get(above->parent);
  }
  // From the root of a tree that has nothing on that side the way leads to the header, and from there to the
  // root again.
  return tell.get(node->child[side]) != above ? above : node;
}

TreeNode* next(const Teller& tell, TreeNode* node) { return neighbour(tell, node, kRight); }

// Before the header comes the last node. The header is the red node that is its parent's parent.
TreeNode* previous(const Teller& tell, TreeNode* node) {
  if (tell.get(node->color) == kRed && tell.get(tell.get(node->parent)->parent) == node)
    return tell.get(node->child[kRight]);
  if (TreeNode* const below = tell.get(node->child[kLeft])) return outermost(tell, below, kRight);
  TreeNode* above = tell.get(node->parent);
  while (node == tell.get(above->child[kLeft])) {
    node = above;
    above = tell.get(above->parent);
  }
  return above;
}

// What refers to `node` from above refers to `instead`.
void replace_below_parent(const Teller& tell, TreeNode& header, TreeNode* node, TreeNode* parent,
                          TreeNode* instead) {
  if (tell.get(header.parent) == node) {
    tell.set(header.parent, instead);
  } else {
    tell.set(parent->child[tell.get(parent->child[kLeft]) == node ? kLeft : kRight], instead);
  }
}

// `node` goes down to `side`, its child of the other side takes its place.
void rotate(const Teller& tell, TreeNode& header, TreeNode* node, Side side) {
  TreeNode* const up = tell.get(node->child[other(side)]);
  TreeNode* const between = tell.get(up->child[side]);
  TreeNode* const parent = tell.get(node->parent);
  tell.set(node->child[other(side)], between);
  if (between != nullptr) tell.set(between->parent, node);
  tell.set(up->parent, parent);
  replace_below_parent(tell, header, node, parent, up);
  tell.set(up->child[side], node);
  tell.set(node->parent, up);
}

void insert(const Teller& tell, Side side, TreeNode* node, TreeNode* parent, TreeNode& header) {
  tell.set(node->color, kRed);
  tell.set(node->parent, parent);
  tell.set(node->child[kLeft], static_cast<TreeNode*>(nullptr));
  tell.set(node->child[kRight], static_cast<TreeNode*>(nullptr));
  if (parent == &header) {
    tell.set(header.parent, node);
    tell.set(header.child[kLeft], node);
    tell.set(header.child[kRight], node);
  } else {
    tell.set(parent->child[side], node);
    if (tell.get(header.child[side]) == parent) tell.set(header.child[side], node);
  }

  // A red node must not have a red parent.
  while (node != tell.get(header.parent)) {
    TreeNode* above = tell.get(node->parent);
    if (tell.get(above->color) == kBlack) break;
    TreeNode* const top = tell.get(above->parent);
    Side const at = tell.get(top->child[kLeft]) == above ? kLeft : kRight;
    TreeNode* const uncle = tell.get(top->child[other(at)]);
    if (uncle != nullptr && tell.get(uncle->color) == kRed) {
      tell.set(above->color, kBlack);
      tell.set(uncle->color, kBlack);
      tell.set(top->color, kRed);
      node = top;
      continue;
    }
    if (tell.get(above->child[other(at)]) == node) {
      rotate(tell, header, above, at);
      node = above;
      above = tell.get(node->parent);
    }
    tell.set(above->color, kBlack);
    tell.set(top->color, kRed);
    rotate(tell, header, top, other(at));
    break;
  }
  TreeNode* const root = tell.get(header.parent);
  if (tell.get(root->color) != kBlack) tell.set(root->color, kBlack);
}

// Below `parent`, at the place of `node` (which may be nothing), one black node is missing.
void fill_black(const Teller& tell, TreeNode& header, TreeNode* node, TreeNode* parent) {
  while (node != tell.get(header.parent) && (node == nullptr || tell.get(node->color) == kBlack)) {
    Side const side = tell.get(parent->child[kLeft]) == node ? kLeft : kRight;
    TreeNode* sibling = tell.get(parent->child[other(side)]);
    if (tell.get(sibling->color) == kRed) {
      tell.set(sibling->color, kBlack);
      tell.set(parent->color, kRed);
      rotate(tell, header, parent, side);
      sibling = tell.get(parent->child[other(side)]);
    }
    auto const is_red = [&](TreeNode* nephew) {
      return nephew != nullptr && tell.get(nephew->color) == kRed;
    };
    TreeNode* const near = tell.get(sibling->child[side]);
    TreeNode* far = tell.get(sibling->child[other(side)]);
    if (!is_red(near) && !is_red(far)) {
      tell.set(sibling->color, kRed);
      node = parent;
      parent = tell.get(parent->parent);
      continue;
    }
    if (!is_red(far)) {
      tell.set(near->color, kBlack);
      tell.set(sibling->color, kRed);
      rotate(tell, header, sibling, other(side));
      far = sibling;
      sibling = near;
    }
    tell.set(sibling->color, tell.get(parent->color));
    tell.set(parent->color, kBlack);
    tell.set(far->color, kBlack);
    rotate(tell, header, parent, side);
    return;
  }
  if (node != nullptr && tell.get(node->color) != kBlack) tell.set(node->color, kBlack);
}

// Takes `node` out and returns it.
TreeNode* erase(const Teller& tell, TreeNode* node, TreeNode& header) {
  TreeNode* const parent = tell.get(node->parent);
  TreeNode* const left = tell.get(node->child[kLeft]);
  TreeNode* const right = tell.get(node->child[kRight]);
  Color missing = tell.get(node->color);
  TreeNode* moved_up;  // to where the black node is missing
  TreeNode* above;     // its parent then
  if (left == nullptr || right == nullptr) {
    moved_up = left != nullptr ? left : right;
    above = parent;
    if (moved_up != nullptr) tell.set(moved_up->parent, parent);
    replace_below_parent(tell, header, node, parent, moved_up);
    for (Side const side : kSides) {
      if (tell.get(header.child[side]) == node)
        tell.set(header.child[side], moved_up != nullptr ? outermost(tell, moved_up, side) : parent);
    }
  } else {
    // The next one takes its place and its color.
    TreeNode* const heir = outermost(tell, right, kLeft);
    moved_up = tell.get(heir->child[kRight]);
    Color const inherited = missing;
    missing = tell.get(heir->color);
    if (heir == right) {
      above = heir;
    } else {
      above = tell.get(heir->parent);
      if (moved_up != nullptr) tell.set(moved_up->parent, above);
      tell.set(above->child[kLeft], moved_up);
      tell.set(heir->child[kRight], right);
      tell.set(right->parent, heir);
    }
    tell.set(heir->child[kLeft], left);
    tell.set(left->parent, heir);
    replace_below_parent(tell, header, node, parent, heir);
    tell.set(heir->parent, parent);
    tell.set(heir->color, inherited);
  }
  if (missing == kBlack) fill_black(tell, header, moved_up, above);
  return node;
}

// --- Lists: a ring that goes through a header.

struct ListNode {
  ListNode* next;
  ListNode* previous;
};

void link(const Teller& tell, ListNode* before, ListNode* after) {
  tell.set(before->next, after);
  tell.set(after->previous, before);
}

}  // namespace

// In the monitor lane, a jump to the library's function while nobody wants to know.

INTERPOSE_ACCESSES(TreeNode*, _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base, TreeNode* node) {
  return next(Teller(CALLER), node);
}
INTERPOSE_ACCESSES(TreeNode*, _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base, TreeNode* node) {
  return next(Teller(CALLER), node);
}
INTERPOSE_ACCESSES(TreeNode*, _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base, TreeNode* node) {
  return previous(Teller(CALLER), node);
}
INTERPOSE_ACCESSES(TreeNode*, _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base, TreeNode* node) {
  return previous(Teller(CALLER), node);
}
INTERPOSE_ACCESSES(void, _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_, bool left,
                   TreeNode* node, TreeNode* parent, TreeNode* header) {
  insert(Teller(CALLER), left ? kLeft : kRight, node, parent, *header);
}
INTERPOSE_ACCESSES(TreeNode*, _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_, TreeNode* node,
                   TreeNode* header) {
  return erase(Teller(CALLER), node, *header);
}

// Before `at`.
INTERPOSE_ACCESSES(void, _ZNSt8__detail15_List_node_base7_M_hookEPS0_, ListNode* node, ListNode* at) {
  Teller const tell(CALLER);
  ListNode* const before = tell.get(at->previous);
  link(tell, before, node);
  link(tell, node, at);
}
INTERPOSE_ACCESSES(void, _ZNSt8__detail15_List_node_base9_M_unhookEv, ListNode* node) {
  Teller const tell(CALLER);
  ListNode* const before = tell.get(node->previous);
  link(tell, before, tell.get(node->next));
}
// What is from `first` to before `last` goes before `at`.
INTERPOSE_ACCESSES(void, _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_, ListNode* at, ListNode* first,
                   ListNode* last) {
  if (at == last) return;
  Teller const tell(CALLER);
  ListNode* const before = tell.get(first->previous);
  ListNode* const end = tell.get(last->previous);
  ListNode* const at_before = tell.get(at->previous);
  link(tell, before, last);
  link(tell, at_before, first);
  link(tell, end, at);
}
INTERPOSE_ACCESSES(void, _ZNSt8__detail15_List_node_base10_M_reverseEv, ListNode* header) {
  Teller const tell(CALLER);
  ListNode* node = header;
  do {
    ListNode* const after = tell.get(node->next);
    tell.set(node->next, tell.get(node->previous));
    tell.set(node->previous, after);
    node = after;
  } while (node != header);
}
// Two headers. The neighbours of each are the other's then; an empty list has itself.
INTERPOSE_ACCESSES(void, _ZNSt8__detail15_List_node_base4swapERS0_S1_, ListNode* a, ListNode* b) {
  Teller const tell(CALLER);
  ListNode* const of_a[] = {tell.get(a->next), tell.get(a->previous)};
  ListNode* const of_b[] = {tell.get(b->next), tell.get(b->previous)};
  auto const gives = [&](ListNode* from, ListNode* const neighbours[2], ListNode* to) {
    bool const is_empty = neighbours[0] == from;
    link(tell, to, is_empty ? to : neighbours[0]);
    link(tell, is_empty ? to : neighbours[1], to);
  };
  gives(a, of_a, b);
  gives(b, of_b, a);
}
