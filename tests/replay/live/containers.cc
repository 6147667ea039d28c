// What libstdc++ has compiled of strings, trees, lists and hash tables. The checksum is that of a plain run.
// levels: -O2
// A-B: exited with code 0
// A-B output: dbb9d30e86731af2
// B-A: exited with code 0
// B-A output: other
#include <cstdio>
#include <list>
#include <map>
#include <set>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <unordered_map>

static volatile int flag;
static unsigned long sum = 17;
static void add(unsigned long value) { sum = sum * 31 + value; }
static void add(const std::string& text) {
  for (char c : text) add(static_cast<unsigned long>(c));
}

static void trees() {
  std::map<int, int> map;
  std::set<std::string> names;
  unsigned long next = 1;
  for (int i = 0; i < 400; ++i) {
    next = next * 6364136223846793005u + 1442695040888963407u;
    const int key = static_cast<int>(next >> 33) % 150;
    if (next >> 62 == 0)
      map.erase(key);
    else
      map[key] = i;
    names.insert("name number " + std::to_string(key));
  }
  for (const auto& [key, value] : map) add(static_cast<unsigned long>(key * 1000 + value));
  for (auto at = map.rbegin(); at != map.rend(); ++at) add(static_cast<unsigned long>(at->second));
  for (const std::string& name : names) add(name);
  while (!map.empty()) {
    add(static_cast<unsigned long>(map.begin()->first));
    map.erase(map.begin());
    if (!map.empty()) map.erase(std::prev(map.end()));
  }
}

static void strings() {
  std::string text = "short";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + ",";
    text.insert(text.size() / 2, 1, '|');
    if (i % 7 == 0) text.erase(3, 4);
    if (i % 5 == 0) text.replace(1, 2, "a longer piece");
  }
  std::string copy = text, other;
  other.reserve(100);
  other = copy;
  copy.resize(50, '.');
  other.swap(copy);
  add(text);
  add(copy);
  add(other);
  add(text.find("piece") + text.rfind(',') + text.find_first_of("xyz|"));
  add(text.substr(10, 30));
  add(static_cast<unsigned long>(text.compare(copy) > 0) + static_cast<unsigned long>(text == copy));
}

static void others() {
  std::list<int> list;
  for (int i = 0; i < 50; ++i) list.push_back(i * 37 % 50);
  list.sort();
  list.remove(7);
  for (int value : list) add(static_cast<unsigned long>(value));
  std::unordered_map<std::string, int> table;
  for (int i = 0; i < 100; ++i) table["key" + std::to_string(i % 60)] += i;
  unsigned long all = 0;
  for (const auto& [key, value] : table) all += key.size() * static_cast<unsigned long>(value);
  add(all + table.bucket_count());
}

static void* set(void*) {
  flag = 1;  // <A>
  return nullptr;
}

static void* use(void*) {
  const int seen = flag;  // <B>
  if (seen == 0) {
    puts("other");
    return nullptr;
  }
  trees();
  strings();
  others();
  printf("%lx\n", sum);
  return nullptr;
}

int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, set, nullptr);
  usleep(100000);
  pthread_create(&b, nullptr, use, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  return 0;
}
