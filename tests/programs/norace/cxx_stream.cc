// rule: libraries
// claim: all threads may print and read by the standard streams; other streams are used under a lock, and looked at by all
// flags: -std=c++17
// expect: nothing
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

#include "../order.h"

std::ostringstream shared;
std::ostringstream const looked_at("text");
std::string const text("some text");
std::mutex lock;

static void* body(void*) {
  for (int i = 0; i < 50; ++i) {
    std::cout << i << ' ' << text << 1.5 << std::endl;
    std::cerr << "";
    std::string word;
    std::cin >> word;
    std::istringstream own(text);
    own >> word;
    std::getline(own, word);
    std::ofstream file("/dev/null");
    file << text << i;
    file.close();
    use(static_cast<long>(looked_at.str().size() + looked_at.good()));
    std::lock_guard<std::mutex> const guard(lock);
    shared << i << text << 'c' << "abc" << true << std::endl;
    shared.write(text.data(), 3).put('x').flush();
    if (i % 10 == 0) shared.str("");
  }
  return nullptr;
}

int main() { run2(body, body); }
