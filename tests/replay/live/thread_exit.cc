// What threads do when they end: destructors of thread-local variables, of pthread keys' values; std::call_once.
// A-B: exited with code 0
// A-B output: once 1 ~local 5 key 7 end
// B-A: exited with code 0
// B-A output: once 0 ~local 5 key 7 end
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <mutex>

static volatile int flag;
static pthread_key_t key;
static std::once_flag once;

struct Noisy {
  int value = 4;
  ~Noisy() { printf("~local %d ", value); }
};
static thread_local Noisy noisy;

static void end_of_key(void* value) { printf("key %d ", static_cast<int>(reinterpret_cast<long>(value))); }

static void* set(void*) {
  flag = 1;  // <A>
  return nullptr;
}

static void* use(void*) {
  pthread_setspecific(key, reinterpret_cast<void*>(7L));
  ++noisy.value;
  int seen = flag;  // <B>
  std::call_once(once, [seen] { printf("once %d ", seen); });
  std::call_once(once, [seen] { printf("twice %d ", seen); });
  return nullptr;
}

int main() {
  pthread_key_create(&key, end_of_key);
  pthread_t a, b;
  pthread_create(&a, nullptr, set, nullptr);
  usleep(100000);
  pthread_create(&b, nullptr, use, nullptr);
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
  puts("end");
  return 0;
}
