// rule: libraries
// claim: threads may read one map, print, and use strings and streams of their own
// expect: nothing
// flags: -std=c++20
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../order.h"

std::map<std::string, int> table{{"one", 1}, {"two", 2}, {"three", 3}};

static void work(int number) {
  for (int i = 0; i < 50; i++) {
    std::ostringstream line;
    line << number << ": " << table.at("two") << " " << table.count("four") << " " << 1.5 * i << "\n";
    std::string text = line.str();
    std::cout << text;
    printf("%d %s", i, text.c_str());
    std::istringstream back(text);
    int parsed;
    back >> parsed;
    if (parsed != number) abort();
  }
}

int main() {
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
}
