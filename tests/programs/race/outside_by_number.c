// rule: outside
// claim: adding to a semaphore orders nobody who takes nothing; a file lock that was refused orders nothing
// expect: race write@a write@b
// expect: race write@c write@d
#include <fcntl.h>
#include <sys/file.h>
#include <sys/sem.h>
#include <unistd.h>

#include "../order.h"

int data, other;
int semaphores, file[2];

static void* first(void* _) {
  if (flock(file[0], LOCK_EX) != 0) abort();
  data = 1;   // @a
  other = 1;  // @c
  struct sembuf add = {0, 1, 0};
  if (semaphores >= 0 && semop(semaphores, &add, 1) != 0) abort();
  step();
  await(2);
  if (flock(file[0], LOCK_UN) != 0) abort();
  return NULL;
}

static void* second(void* _) {
  await(1);
  struct sembuf add = {0, 1, 0};
  if (semaphores >= 0 && semop(semaphores, &add, 1) != 0) abort();
  data = 2;  // @b
  if (flock(file[1], LOCK_EX | LOCK_NB) == 0) abort();
  other = 2;  // @d
  step();
  return NULL;
}

int main(void) {
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  char path[] = "/tmp/deadheat-XXXXXX";
  file[0] = mkstemp(path);
  file[1] = open(path, O_RDWR);
  unlink(path);
  run2(first, second);
  if (semaphores >= 0) semctl(semaphores, 0, IPC_RMID);
}
