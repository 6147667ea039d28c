// rule: bytes
// claim: two neighbouring 128-bit integers do not race
// expect: nothing
#include "../order.h"

unsigned __int128 wide[2];

static void* writer(void*) {
  wide[0] = (static_cast<unsigned __int128>(1) << 100) | steps_so_far();
  step();
  return nullptr;
}

static void* reader(void*) {
  await(1);
  use(reinterpret_cast<uint64_t*>(&wide[1])[0]);
  return nullptr;
}

int main() { run2(writer, reader); }
