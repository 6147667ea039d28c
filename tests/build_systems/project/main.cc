// Two threads, one counter in a library written in C, no lock: one race, whoever builds it.
#include <thread>

#include "counter.h"

int main() {
  std::thread first(count_once);
  std::thread second(count_once);
  first.join();
  second.join();
  return counter == 0;
}
