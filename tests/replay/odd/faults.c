// Faults that the program's own handlers catch, in loads, stores, copies and divisions; each with more stores
// behind it, which must not happen in a replay either.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __thread sigjmp_buf back;
static volatile int zero, marks[64], caught[4];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char* page;

static void jump(int number, siginfo_t* info, void* context) {
  (void)context;
  caught[number == SIGFPE ? 1 : 0]++;
  marks[63] = (int)(long)info->si_addr;
  siglongjmp(back, number);
}

// Makes the page what it was not, and returns to the load.
static void repair(int number, siginfo_t* info, void* context) {
  (void)number, (void)info, (void)context;
  caught[2]++;
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(number, &action, 0);
}

static void sync_now(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

static void* work(void* argument) {
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (sigsetjmp(back, 1) == 0) {  // a store
      marks[i] = i;
      *(volatile int*)(long)(16 * i) = 1;
      marks[i] = 100;
      marks[i + 8] = 200;
      sum += marks[3];
    }
    sync_now();
    if (sigsetjmp(back, 1) == 0) {  // a load
      marks[16] = i;
      sum += *(volatile int*)(long)(16 * i);
      marks[16] = 300;
    }
    sync_now();
    if (sigsetjmp(back, 1) == 0) {  // a division
      marks[24] = i;
      sum += 7 / zero;
      marks[24] = 400;
    }
    sync_now();
    if (sigsetjmp(back, 1) == 0) {  // a copy, in the middle: the second page is not there
      marks[32] = i;
      memcpy(page + 4096 - 64, (const char*)marks, (size_t)(128 + zero));
      marks[32] = 500;
    }
    sync_now();
    for (int j = 0; j < 64; ++j) sum += marks[j] * j;
  }
  return (void*)(long)(sum + (argument != 0));
}

int main(void) {
  handle(SIGSEGV, jump);
  handle(SIGFPE, jump);
  page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(page + 4096, 4096, PROT_NONE);
  pthread_t thread;
  void* result;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, &result);
  handle(SIGSEGV, repair);
  page[5] = 9;
  mprotect(page, 4096, PROT_NONE);
  int seen = ((volatile char*)page)[5];
  mprotect(page, 4096, PROT_NONE);
  for (int i = 0; i < 3; ++i) page[i] = (char)(seen + i);
  seen += page[2] - 11;
  printf("%d %d %d %d\n", caught[0], caught[1], caught[2], seen);
  return caught[0] == 15 && caught[1] == 5 && caught[2] == 2 && seen == 9 ? 0 : 1;
}
