// rule: OpenMP
// claim: a reduction does not, and the loop is ordered after what came before it and before what follows
// flags: -fopenmp
// expect: nothing
#include "../order.h"

int values[64], sum;

int main(void) {
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 64; i++) values[i] = i;
#pragma omp parallel for num_threads(4) schedule(dynamic, 3) reduction(+ : sum)
    for (int i = 0; i < 64; i++) {
      sum += values[i];
      values[i] = 0;
    }
    use(sum);
    sum = values[5];
  }
}
