// rule: bytes
// claim: a 128-bit integer is two words, and its upper half races on its own
// expect: race write@a read@b
#include "../order.h"

unsigned __int128 wide[2];

static void* writer(void*) {
  wide[0] = (static_cast<unsigned __int128>(1) << 100) | steps_so_far();  // @a
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(reinterpret_cast<uint64_t*>(&wide[0])[1]);  // @b
  return nullptr;
}

int main() { run2(writer, reader); }
