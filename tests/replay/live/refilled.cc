// A character is appended behind the stops, by a store inside the library that nobody sees. What the program reads
// there then was not there before.
// levels: -O2
// A-B: unknown memory: .*
// B-A: unknown memory: .*
#include <cstdio>
#include <pthread.h>
#include <string>
#include <unistd.h>

static std::string text;
static const char* volatile characters;
static volatile int flag;

static void* first(void*) {
  flag = 1;  // <A>
  text.append("Y", 1);
  printf("%c\n", characters[12]);
  usleep(20000);
  return nullptr;
}

static void* second(void*) {
  usleep(10000);
  if (flag == 0) printf("%c\n", characters[12]);  // <B>
  return nullptr;
}

int main() {
  text.reserve(40);
  text.append("0123456789ab", 12);
  characters = text.data();
  pthread_t a, b;
  pthread_create(&a, nullptr, first, nullptr);
  pthread_create(&b, nullptr, second, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
}
