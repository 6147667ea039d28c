// rule: outside
// claim: queues and semaphores that the kernel knows by number, file locks and timers order, as what they are
// expect: nothing
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../order.h"

int data[6];
int queue, semaphores, timer, file[2];
mqd_t messages;
sigset_t alarms;
struct message {
  long type;
  char text[8];
};

static void* first(void* _) {
  struct message message = {1, "hello"};
  data[0] = 1;
  if (queue >= 0 && msgsnd(queue, &message, sizeof message.text, 0) != 0) abort();
  data[1] = 1;
  struct sembuf add = {0, 1, 0};
  if (semaphores >= 0 && semop(semaphores, &add, 1) != 0) abort();
  data[2] = 1;
  if (messages >= 0 && mq_send(messages, "hello", 5, 0) != 0) abort();
  data[3] = 1;
  struct itimerspec soon = {{0, 0}, {0, 1000}};
  if (timerfd_settime(timer, 0, &soon, NULL) != 0) abort();
  data[4] = 1;
  struct itimerval alarm_soon = {{0, 0}, {0, 1000}};
  if (setitimer(ITIMER_REAL, &alarm_soon, NULL) != 0) abort();
  if (flock(file[0], LOCK_EX) != 0) abort();
  data[5] = 1;
  step();
  doze(2000);
  if (flock(file[0], LOCK_UN) != 0) abort();
  return NULL;
}

static void* second(void* _) {
  struct message message;
  if (queue < 0 || msgrcv(queue, &message, sizeof message.text, 0, 0) >= 0) data[0] += queue >= 0;
  struct sembuf take = {0, -1, 0};
  if (semaphores >= 0 && semop(semaphores, &take, 1) == 0) ++data[1];
  char text[64];
  if (messages >= 0 && mq_receive(messages, text, sizeof text, NULL) >= 0) ++data[2];
  uint64_t expirations;
  if (read(timer, &expirations, sizeof expirations) == sizeof expirations) ++data[3];
  int signal;
  if (sigwait(&alarms, &signal) == 0) ++data[4];
  await(1);
  if (flock(file[1], LOCK_EX) == 0) ++data[5];
  return NULL;
}

int main(void) {
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  queue = msgget(IPC_PRIVATE, 0600);
  semaphores = semget(IPC_PRIVATE, 1, 0600);
  struct mq_attr sizes = {.mq_maxmsg = 2, .mq_msgsize = 64};
  char name[64];
  snprintf(name, sizeof name, "/deadheat-%ld", (long)getpid());
  messages = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &sizes);
  if (messages >= 0) mq_unlink(name);
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  char path[] = "/tmp/deadheat-XXXXXX";
  file[0] = mkstemp(path);
  file[1] = open(path, O_RDWR);
  unlink(path);
  run2(first, second);
  if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
  if (semaphores >= 0) semctl(semaphores, 0, IPC_RMID);
}
