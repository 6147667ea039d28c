// rule: stacks
// claim: threads may share a variable-length array by elements
// expect: nothing
// args: 9
#include "../order.h"

static int* elements;

static void* writer(void* number) {
  int me = (int)(intptr_t)number;
  await(me);
  elements[me] = me;
  step();
  return NULL;
}

int main(int argc, char** argv) {
  int count = atoi(argv[1]) + argc;
  int array[count];
  for (int i = 0; i < count; i++) array[i] = 0;
  elements = array;
  pthread_t threads[2];
  for (intptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, writer, (void*)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  use(array[0]);
}
