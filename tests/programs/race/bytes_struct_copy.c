// rule: bytes
// claim: copying a struct reads every byte of it, and races with a write of one field
// expect: race write@a read@b
#include "../order.h"

struct Record {
  long fields[12];
} records[3], copy;

static void* writer(void* _) {
  records[1].fields[9] = 1;  // @a
  step();
  return NULL;
}

static void* copier(void* _) {
  await(1);
  copy = records[1];  // @b
  use(copy.fields[0]);
  return NULL;
}

int main(void) { run2(writer, copier); }
