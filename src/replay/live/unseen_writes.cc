#include "replay/live/unseen_writes.h"

#include <algorithm>

namespace deadheat::replay::live {
namespace {

constexpr std::uint64_t kStringBytes = 32;
constexpr std::uint64_t kListLinks = 16;  // next, previous
constexpr std::uint64_t kTreeLinks = 32;  // colour, parent, left, right
constexpr std::size_t kArguments = 4;     // no function of these has more that are links
constexpr unsigned kHighestTree = 128;    // a balanced one with 2^64 nodes

void add_string(std::uint64_t object, const MemoryImage& image,
                const std::function<Address(Address)>& end_of_block, std::vector<Extent>& written) {
  if (const auto characters = image.read(Address(object), 8)) {
    const Address begin(*characters);
    written.push_back({begin, end_of_block(begin).value() - *characters});
  }
  written.push_back({Address(object), kStringBytes});
}

// A node and its neighbours.
void add_list(std::uint64_t node, const MemoryImage& image, std::vector<Extent>& written) {
  for (const std::uint64_t link : {0, 8})
    if (const auto neighbour = image.read(Address(node + link), 8))
      written.push_back({Address(*neighbour), kListLinks});
  written.push_back({Address(node), kListLinks});
}

// From a node up to the root, and what hangs there: rotations go no further.
void add_tree(std::uint64_t node, const MemoryImage& image, std::vector<Extent>& written) {
  std::uint64_t below_it = 0;  // the header's parent is the root: there the way up ends
  for (unsigned height = 0; height < kHighestTree && node != 0; ++height) {
    const auto parent = image.read(Address(node + 8), 8);
    for (const std::uint64_t link : {16, 24}) {
      const auto child = image.read(Address(node + link), 8);
      if (!child || *child == 0) continue;
      for (const std::uint64_t below : {16, 24})
        if (const auto grandchild = image.read(Address(*child + below), 8); grandchild && *grandchild != 0)
          written.push_back({Address(*grandchild), kTreeLinks});
      written.push_back({Address(*child), kTreeLinks});
    }
    written.push_back({Address(node), kTreeLinks});
    if (!parent || *parent == below_it) return;
    below_it = node;
    node = *parent;
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

std::vector<Extent> extents_of(UnseenWrites kind, std::span<const std::uint64_t> arguments,
                               const MemoryImage& image,
                               const std::function<Address(Address)>& end_of_block) {
  std::vector<Extent> written;
  if (kind == UnseenWrites::kString && !arguments.empty())
    add_string(arguments[0], image, end_of_block, written);
  if (kind == UnseenWrites::kList || kind == UnseenWrites::kTree) {
    for (const std::uint64_t node : arguments.first(std::min(arguments.size(), kArguments))) {
      if (kind == UnseenWrites::kList)
        add_list(node, image, written);
      else
        add_tree(node, image, written);
    }
  }
  return written;
}

}  // namespace deadheat::replay::live
