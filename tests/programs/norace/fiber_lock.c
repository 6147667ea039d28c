// rule: fibers
// claim: a lock that a fiber took and gave back may be made anew by who was switched to
// expect: nothing
#include "../order.h"

void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);

pthread_mutex_t lock;

int main(void) {
  void* const home = __tsan_get_current_fiber();
  for (int i = 0; i < 3; i++) {
    void* const away = __tsan_create_fiber(0);
    pthread_mutex_init(&lock, NULL);
    __tsan_switch_to_fiber(away, 0);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    __tsan_switch_to_fiber(home, 0);
    __tsan_destroy_fiber(away);
  }
}
