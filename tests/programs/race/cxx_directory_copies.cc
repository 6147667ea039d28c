// rule: libraries
// claim: an entry that is used after its thread let go of the iterator races with its end by another
// expect: race read@a any@b
// flags: -std=c++20
#include <filesystem>

#include "../order.h"

namespace fs = std::filesystem;

fs::directory_iterator *one, *two;
fs::recursive_directory_iterator *first_tree, *second_tree;

static void* first(void*) {
  const fs::directory_entry& entry = **one;
  delete one;
  use(entry.path().native().size());  // @a
  use((*first_tree)->path().native().size());
  delete first_tree;
  step();
  return nullptr;
}

static void* second(void*) {
  await(1);
  while (*two != fs::directory_iterator()) ++*two;  // @b
  second_tree->pop();
  return nullptr;
}

int main() {
  one = new fs::directory_iterator("/");
  two = new fs::directory_iterator(*one);
  first_tree = new fs::recursive_directory_iterator("/");
  second_tree = new fs::recursive_directory_iterator(*first_tree);
  run2(first, second);
  delete two;
  delete second_tree;
}
