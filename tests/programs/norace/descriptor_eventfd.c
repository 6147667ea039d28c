// rule: file descriptors
// claim: an eventfd that was read was written before
// expect: nothing
#include <sys/eventfd.h>
#include <unistd.h>

#include "../order.h"

int data;
int event, other;

static void* writer(void* _) {
  uint64_t one = 1;
  data = 1;
  if (write(event, &one, 8) != 8) abort();
  step();
  return NULL;
}

static void* reader(void* _) {
  uint64_t value;
  await(1);
  if (read(event, &value, 8) != 8) abort();
  use(data);
  return NULL;
}

int main(void) {
  event = eventfd(0, 0);
  other = eventfd(0, 0);
  run2(writer, reader);
}
