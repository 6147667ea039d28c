// rule: OpenMP
// claim: critical sections of one name, and locks, order
// flags: -fopenmp
// expect: nothing
#include <omp.h>

#include "../order.h"

int data, locked, nested;
omp_lock_t lock;
omp_nest_lock_t nest;

int main(void) {
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
  for (int i = 0; i < 100; i++) {
#pragma omp critical(one)
    data++;
    omp_set_lock(&lock);
    locked++;
    omp_unset_lock(&lock);
    while (!omp_test_lock(&lock)) continue;
    locked++;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    nested++;
    omp_unset_nest_lock(&nest);
    nested++;
    omp_unset_nest_lock(&nest);
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  use(data + locked + nested);
}
