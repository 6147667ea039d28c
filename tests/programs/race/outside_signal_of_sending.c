// rule: outside
// claim: what comes after the sending is not ordered before the signal that tells of it
// expect: race write@sent_byte write@told_byte
// expect: race write@sent_message write@told_message
// flags: -D_GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../order.h"

int of_byte, of_message;
int ends[2];
mqd_t queue;

static void* sends(void* _) {
  if (write(ends[1], "x", 1) != 1) abort();
  of_byte = 1;  // @sent_byte
  step();
  await(2);
  if (mq_send(queue, "x", 1, 0) != 0) abort();
  of_message = 1;  // @sent_message
  step();
  return NULL;
}

int main(void) {
  char name[64];
  snprintf(name, sizeof name, "/deadheat-test-%d", (int)getpid());
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
  queue = mq_open(name, O_CREAT | O_RDWR | O_EXCL, 0600, &attributes);
  if (queue == (mqd_t)-1) return 0;  // this kernel has none
  mq_unlink(name);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGIO);
  sigaddset(&both, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &both, NULL);
  fcntl(ends[0], F_SETOWN, getpid());
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  mq_notify(queue, &event);
  pthread_t const other = start(sends);
  await(1);
  if (sigwaitinfo(&both, NULL) != SIGIO) abort();
  of_byte = 2;  // @told_byte
  step();
  await(3);
  if (sigwaitinfo(&both, NULL) != SIGUSR1) abort();
  of_message = 2;  // @told_message
  join(other);
}
