// dlopen and dlclose. The library is this program's own source, compiled again (CMakeLists.txt).
#ifdef TEST_LIBRARY

#include <pthread.h>

pthread_mutex_t library_mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((constructor)) static void start() {
  pthread_mutex_lock(&library_mutex);  // found in the executable, not in libc
  pthread_mutex_unlock(&library_mutex);
}
extern "C" int answer() { return 42; }

#else

#include <dlfcn.h>

#include "runtime/interpose/tests/fake_lane.h"

extern "C" int record_objects;
extern "C" void record_forget_objects(void);

int main() {
  record_objects = 1;
  record_begin();
  void* const library = dlopen(TEST_LIBRARY_PATH, RTLD_NOW);
  CHECK(library != nullptr);
  CHECK_RECORD("acquire #1; release #1");
  auto* const answer = reinterpret_cast<int (*)()>(dlsym(library, "answer"));
  CHECK(answer != nullptr && answer() == 42);
  // The second time, the constructors are over, and ordered.
  EXPECT(CHECK(dlopen(TEST_LIBRARY_PATH, RTLD_NOW) == library), "acquire #1; release #1");
  record_allocations = 1;
  record_begin();
  CHECK(dlclose(library) == 0);
  CHECK(strstr(record_end(), "unmapping") == nullptr);
  record_begin();
  CHECK(dlclose(library) == 0);
  CHECK(strstr(record_end(), "unmapping") != nullptr);
  CHECK(dlopen("/nonexistent.so", RTLD_NOW) == nullptr);
  CHECK(strstr(dlerror(), "nonexistent") != nullptr);
  return 0;
}

#endif
