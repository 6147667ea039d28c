// rule: OpenMP
// claim: what a loop does outside of its ordered block is not ordered
// flags: -fopenmp
// expect: race write@a write@b
#include "../order.h"

int data, inside;

int main(void) {
#pragma omp parallel for ordered schedule(static, 1) num_threads(2)
  for (int i = 0; i < 2; i++) {
    if (i == 1) {
      data = 1;  // @a
      step();
    }
    if (i == 0) {
      await(1);
      data = 2;  // @b
    }
#pragma omp ordered
    inside++;
  }
}
