// Binary trees are built, walked and freed, over and over: allocation, pointers, recursion.
#include <memory>

#include "common.h"

namespace {

struct Tree {
  std::unique_ptr<Tree> left, right;
  uint32_t value = 0;
};

std::unique_ptr<Tree> build(int depth, uint32_t value) {
  auto tree = std::make_unique<Tree>();
  tree->value = value;
  if (depth > 0) {
    tree->left = build(depth - 1, value * 2);
    tree->right = build(depth - 1, value * 2 + 1);
  }
  return tree;
}

uint64_t walk(const Tree& tree) {
  uint64_t sum = tree.value;
  if (tree.left) sum += walk(*tree.left);
  if (tree.right) sum += walk(*tree.right) * 3;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  long const rounds = bench::scale(argc, argv, 120);
  uint64_t sums[2] = {};
  bench::in_two_threads([&](int which) {
    for (long i = 0; i < rounds; ++i) {
      auto const tree = build(14, static_cast<uint32_t>(i + which));
      for (int walks = 0; walks < 4; ++walks) sums[which] = bench::mix(sums[which], walk(*tree));
    }
  });
  return bench::report("trees", bench::mix(sums[0], sums[1]));
}
