// dlopen, dlclose and dlopen again, with threads that use the library meanwhile.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static int twice(int value) { return value * 2; }

int main(int, char** arguments) {
  int total = 0;
  for (int round = 0; round < 3; ++round) {
    void* const library = dlopen(arguments[1], RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    auto* const work = reinterpret_cast<int (*)(int (*)(int), int)>(dlsym(library, "plugin_work"));
    int results[2] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&results, i, work, round] { results[i] = work(twice, round + i); });
    for (std::thread& thread : threads) thread.join();
    // Something else where the library was, perhaps.
    void* volatile block = std::malloc(100000);
    if (dlclose(library) != 0) return 1;
    std::free(block);
    total += results[0] + results[1];
  }
  std::printf("%d\n", total > 0);
}
