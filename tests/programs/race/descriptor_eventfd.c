// rule: file descriptors
// claim: another eventfd orders nothing
// expect: race write@a read@b
#include <sys/eventfd.h>
#include <unistd.h>

#include "../order.h"

int data;
int event, other;

static void* writer(void* _) {
  uint64_t one = 1;
  data = 1;  // @a
  if (write(other, &one, 8) != 8) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  uint64_t value;
  await(1);
  if (read(event, &value, 8) != 8) abort();
  use(data);  // @b
  return NULL;
}

int main(void) {
  event = eventfd(1, 0);
  other = eventfd(0, 0);
  run2(writer, reader);
}
