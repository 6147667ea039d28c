// Address space, and sorting.
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "runtime/interpose/tests/fake_lane.h"

int main() {
  record_allocations = 1;
  void* p = nullptr;
  EXPECT(p = mmap(nullptr, 5000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mapped 8192");
  EXPECT(CHECK(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED), "");
  EXPECT(CHECK(mremap(p, 8192, 4096, 0) == p), "unmapping 4096");
  void* q = nullptr;
  EXPECT(q = mremap(p, 4096, 1 << 20, MREMAP_MAYMOVE),
         q == p ? "mapped 1044480" : "unmapping 4096; mapped 1048576");
  EXPECT(CHECK(munmap(q, 1 << 20) == 0), "unmapping 1048576");
  EXPECT(CHECK(munmap(reinterpret_cast<void*>(1), 4096) == -1), "");
  int const id = shmget(IPC_PRIVATE, 5000, IPC_CREAT | 0600);
  if (id >= 0) {
    EXPECT(p = shmat(id, nullptr, 0), "mapped 8192");
    shmctl(id, IPC_RMID, nullptr);
    EXPECT(CHECK(shmdt(p) == 0), "unmapping 8192");
    EXPECT(CHECK(shmdt(p) == -1), "");
  }
  int numbers[4] = {3, 1, 2, 0};
  record_allocations = 0;
  record_name(numbers, sizeof numbers, "numbers");
  EXPECT(qsort(numbers, 4, sizeof(int),
               [](const void* a, const void* b) {
                 return *static_cast<const int*>(a) - *static_cast<const int*>(b);
               }),
         "read numbers 16; write numbers 16");
  CHECK(numbers[0] == 0 && numbers[3] == 3);
  return 0;
}
