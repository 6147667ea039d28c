// rule: signals
// claim: a handler is not in the ignored scope that it interrupts: what it writes after its post races
// expect: race write@a read@b
#include <semaphore.h>
#include <signal.h>

#include "../order.h"

#ifdef __cplusplus
extern "C" {
#endif
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
#ifdef __cplusplus
}
#endif

int data;
sem_t told;

static void handler(int signal) {
  sem_post(&told);
  data = 1;  // @a
  step();
}

static void* interrupted(void* _) {
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  raise(SIGUSR1);
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  return NULL;
}

static void* waiting(void* _) {
  sem_wait(&told);
  await(1);
  use(data);  // @b
  return NULL;
}

int main(void) {
  sem_init(&told, 0, 0);
  signal(SIGUSR1, handler);
  run2(interrupted, waiting);
}
