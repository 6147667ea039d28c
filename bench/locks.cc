// Instructions per lock that is taken and released: the table in docs/performance.md.
//
//   build/bin/deadheat-c++ -O2 -g -std=c++20 -pthread bench/locks.cc -o locks && strip -d locks
//   valgrind --tool=callgrind ./locks KIND 20; valgrind --tool=callgrind ./locks KIND 40
//
// and the difference of the two counts by 20 * 2 * 500, which is how many more there were in the second run.
#include <pthread.h>
#include <semaphore.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

constexpr int kLocks = 500;
constexpr int kThreads = 2;

struct alignas(64) Mutex {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
};
struct alignas(64) ReadWrite {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
};
Mutex mutexes[kLocks];
ReadWrite read_writes[kLocks];
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int next_one;

__attribute__((noinline)) void mutex(int first, int count) {
  for (int i = first; i < first + count; ++i) {
    pthread_mutex_lock(&mutexes[i].lock);
    pthread_mutex_unlock(&mutexes[i].lock);
  }
}
__attribute__((noinline)) void read(int first, int count) {
  for (int i = first; i < first + count; ++i) {
    pthread_rwlock_rdlock(&read_writes[i].lock);
    pthread_rwlock_unlock(&read_writes[i].lock);
  }
}
__attribute__((noinline)) void write(int first, int count) {
  for (int i = first; i < first + count; ++i) {
    pthread_rwlock_wrlock(&read_writes[i].lock);
    pthread_rwlock_unlock(&read_writes[i].lock);
  }
}
// Both threads at once: each waits for the other.
__attribute__((noinline)) void wait_and_notify(int me, int count) {
  for (int i = 0; i < count; ++i) {
    pthread_mutex_lock(&mutexes[0].lock);
    while (next_one != me) pthread_cond_wait(&changed, &mutexes[0].lock);
    next_one = 1 - me;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutexes[0].lock);
  }
}
void notify(int count) {
  for (int i = 0; i < count; ++i) pthread_cond_signal(&changed);
}

void one_turn(std::string_view kind, int me) {
  if (kind == "mutex") mutex(0, kLocks);
  if (kind == "mutex-again")
    for (int i = 0; i < kLocks; ++i) mutex(me, 1);
  if (kind == "read") read(0, kLocks);
  if (kind == "read-again")
    for (int i = 0; i < kLocks; ++i) read(0, 1);
  if (kind == "write") write(0, kLocks);
  if (kind == "notify") notify(kLocks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "locks: mutex|mutex-again|read|read-again|write|notify|wait ROUNDS\n");
    return 2;
  }
  std::string_view const kind = argv[1];
  int const rounds = std::atoi(argv[2]);
  sem_t turn[kThreads];
  sem_init(&turn[0], 0, 1);
  sem_init(&turn[1], 0, 0);
  auto const body = [&](int me) {
    for (int round = 0; round < rounds; ++round) {
      if (kind == "wait") {
        wait_and_notify(me, kLocks);
        continue;
      }
      sem_wait(&turn[me]);
      one_turn(kind, me);
      sem_post(&turn[1 - me]);
    }
  };
  std::thread first(body, 0);
  std::thread second(body, 1);
  first.join();
  second.join();
}
