// rule: code shapes
// claim: a destructor that finds its own virtual table in place changes nothing, while another thread calls through it
// expect: nothing
// flags: -std=c++17
#include <pthread.h>
#include <semaphore.h>

struct Base {
  sem_t done;
  Base() { sem_init(&done, 0, 0); }
  virtual void work() { sem_post(&done); }
  virtual ~Base() { sem_wait(&done); }
};

static void* run(void* object) {
  static_cast<Base*>(object)->work();
  return nullptr;
}

int main() {
  Base* object = new Base;
  pthread_t thread;
  pthread_create(&thread, nullptr, run, object);
  delete object;
  pthread_join(thread, nullptr);
}
