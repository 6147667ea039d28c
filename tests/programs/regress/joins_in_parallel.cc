// rule: thread identities
// claim: a handle that libc gives to a new thread, before the joiner of its former owner has told of the join, is the new one's
// expect: nothing
#include <cstdlib>
#include <thread>
#include <vector>

int main() {
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i)
    makers.emplace_back([] {
      for (int j = 0; j < 400; ++j) {
        int result = 0;
        std::thread([&] { result = j; }).join();
        if (result != j) std::abort();
      }
    });
  for (std::thread& maker : makers) maker.join();
}
