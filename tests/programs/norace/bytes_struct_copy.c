// rule: bytes
// claim: copying one element does not race with a write of the next
// expect: nothing
#include "../order.h"

struct Record {
  long fields[12];
} records[3], copy;

static void* writer(void* _) {
  records[2].fields[0] = 1;
  step();
  return NULL;
}

static void* copier(void* _) {
  await(1);
  copy = records[1];
  use(copy.fields[0]);
  return NULL;
}

int main(void) { run2(writer, copier); }
