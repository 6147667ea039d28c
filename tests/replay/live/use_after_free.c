// In one order a block is used after it was freed.
// A-B: use after free: read of 4 bytes at 0x[0-9a-f]+, byte 0 of a freed block of 16 bytes, freed at .*use_after_free.c:2\d.*, thread 2, .*use_after_free.c:.*
// B-A: exited with code 0
// B-A output: 5
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct node {
  int value;
  int padding[3];
};

static struct node* volatile node;
static volatile int is_gone;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* drop(void* argument) {
  (void)argument;
  usleep(200000);
  is_gone = 1;  // <A>
  pthread_mutex_lock(&lock);
  free(node);
  pthread_mutex_unlock(&lock);
  return 0;
}

static void* use(void* argument) {
  (void)argument;
  if (is_gone) usleep(1);  // <B>
  printf("%d\n", node->value);
  return 0;
}

int main(void) {
  node = malloc(sizeof *node);
  node->value = 5;
  pthread_t a, b;
  pthread_create(&a, 0, drop, 0);
  pthread_create(&b, 0, use, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
