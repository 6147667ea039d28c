// A library that is loaded, unloaded and loaded again.
#include <string>
#include <vector>

static int calls;
struct Loaded {
  std::string name = "loaded";
  ~Loaded() { calls = -1; }
};
static Loaded loaded;
static thread_local int mine = 5;

extern "C" int plugin_work(int (*back)(int), int value) {
  std::vector<int> values;
  for (int i = 0; i < 20; ++i) values.push_back(back(value + i) + mine);
  int sum = 0;
  for (int each : values) sum += each;
  ++mine;
  return sum + ++calls + static_cast<int>(loaded.name.size());
}
