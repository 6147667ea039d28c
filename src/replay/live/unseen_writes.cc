#include "replay/live/unseen_writes.h"

#include <algorithm>

namespace deadheat::replay::live {
namespace {

constexpr std::uint64_t kStringBytes = 32;
constexpr std::uint64_t kListLinks = 16;  // next, previous
constexpr std::uint64_t kTreeLinks = 32;  // colour, parent, left, right
constexpr std::size_t kArguments = 4;     // no function of these has more that are links
constexpr unsigned kHighestTree = 128;    // a balanced one with 2^64 nodes

void visit_string(std::uint64_t object, const MemoryImage& image,
                  const std::function<Address(Address)>& end_of_block,
                  const std::function<void(Address, std::uint64_t)>& visit) {
  if (const auto characters = image.read(Address(object), 8)) {
    const Address begin(*characters);
    visit(begin, end_of_block(begin).value() - *characters);
  }
  visit(Address(object), kStringBytes);
}

// A node and its neighbours.
void visit_list(std::uint64_t node, const MemoryImage& image,
                const std::function<void(Address, std::uint64_t)>& visit) {
  for (const std::uint64_t link : {0, 8})
    if (const auto neighbour = image.read(Address(node + link), 8)) visit(Address(*neighbour), kListLinks);
  visit(Address(node), kListLinks);
}

// From a node up to the root, and what hangs there: rotations go no further.
void visit_tree(std::uint64_t node, const MemoryImage& image,
                const std::function<void(Address, std::uint64_t)>& visit) {
  for (unsigned height = 0; height < kHighestTree && node != 0; ++height) {
    const auto parent = image.read(Address(node + 8), 8);
    for (const std::uint64_t link : {16, 24}) {
      const auto child = image.read(Address(node + link), 8);
      if (!child || *child == 0) continue;
      for (const std::uint64_t below : {16, 24})
        if (const auto grandchild = image.read(Address(*child + below), 8); grandchild && *grandchild != 0)
          visit(Address(*grandchild), kTreeLinks);
      visit(Address(*child), kTreeLinks);
    }
    visit(Address(node), kTreeLinks);
    node = parent.value_or(0);
  }
}

}  // namespace

UnseenWrites unseen_writes_of(std::string_view function) {
  if (function.starts_with("_ZNSt7__cxx1112basic_stringI")) return UnseenWrites::kString;
  if (function.starts_with("_ZNSt8__detail15_List_node_base")) return UnseenWrites::kList;
  if (function.starts_with("_ZSt29_Rb_tree_insert_and_rebalance") ||
      function.starts_with("_ZSt28_Rb_tree_rebalance_for_erase"))
    return UnseenWrites::kTree;
  return UnseenWrites::kNone;
}

void visit_unseen_writes(UnseenWrites kind, std::span<const std::uint64_t> arguments,
                         const MemoryImage& image, const std::function<Address(Address)>& end_of_block,
                         const std::function<void(Address, std::uint64_t)>& visit) {
  if (kind == UnseenWrites::kNone || arguments.empty()) return;
  if (kind == UnseenWrites::kString) return visit_string(arguments[0], image, end_of_block, visit);
  for (const std::uint64_t node : arguments.first(std::min(arguments.size(), kArguments))) {
    if (kind == UnseenWrites::kList)
      visit_list(node, image, visit);
    else
      visit_tree(node, image, visit);
  }
}

}  // namespace deadheat::replay::live
