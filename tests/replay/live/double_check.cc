// Double-checked initialisation without any order: who looks between the flag and the value sees neither right.
// A-B: exited with code 0
// A-B output: got 42
// B-A: exited with code 1
// B-A output: got 0
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

static int value;
static volatile bool is_ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int result;

static int get() {
  if (!is_ready) {
    pthread_mutex_lock(&lock);
    if (!is_ready) {
      is_ready = true;
      *(volatile int*)&value = 42;  // <A>
    }
    pthread_mutex_unlock(&lock);
  }
  return *(volatile int*)&value;  // <B>
}

static void* first(void*) {
  get();
  return nullptr;
}

static void* second(void*) {
  result = get();
  return nullptr;
}

int main() {
  pthread_t a, b;
  pthread_create(&a, nullptr, first, nullptr);
  usleep(100000);
  pthread_create(&b, nullptr, second, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  std::printf("got %d\n", result);
  return result == 42 ? 0 : 1;
}
