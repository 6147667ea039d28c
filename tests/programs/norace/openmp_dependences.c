// rule: OpenMP
// claim: dependences order tasks, detached ones too
// flags: -fopenmp
// expect: nothing
#include <omp.h>

#include "../order.h"

int data, copies[4], order, total;
int* const key = &order;

int main(void) {
#pragma omp parallel num_threads(4)
#pragma omp single
  for (int round = 0; round < 20; round++) {
#pragma omp task depend(out : data)
    data = round;
    for (int i = 0; i < 4; i++) {
#pragma omp task depend(in : data) depend(out : copies[i]) firstprivate(i)
      copies[i] = data + i;
    }
    for (int i = 0; i < 4; i++) {
#pragma omp task depend(mutexinoutset : total) depend(in : copies[i]) firstprivate(i)
      total += copies[i];
    }
#pragma omp task depend(inout : data, total)
    data += total;
#pragma omp taskwait depend(in : total)
    use(total);
    omp_event_handle_t event;
#pragma omp task detach(event) depend(out : order)
    order = round;
#pragma omp task
    omp_fulfill_event(event);
#pragma omp task depend(in : order)
    use(order);
  }
}
