// Recursive tasks: two workers solve the n-queens problem with a shared stack of tasks; futures by counters
// and a lock.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "common.h"

namespace {

class Pool {
 public:
  using Task = std::function<void()>;

  void add(Task task) {
    open_.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard const guard(lock_);
    tasks_.push_back(std::move(task));
    ready_.notify_one();
  }
  // Until every task, and every task they added, is done.
  void work() {
    for (;;) {
      Task task;
      {
        std::unique_lock guard(lock_);
        ready_.wait(guard, [this] { return !tasks_.empty() || open_.load(std::memory_order_acquire) == 0; });
        if (tasks_.empty()) return;
        task = std::move(tasks_.back());
        tasks_.pop_back();
      }
      task();
      if (open_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard const guard(lock_);
        ready_.notify_all();
      }
    }
  }

 private:
  std::mutex lock_;
  std::condition_variable ready_;
  std::vector<Task> tasks_;
  std::atomic<long> open_{0};
};

struct Board {
  int size;
  int rows;
  int column[16];
};

bool safe(const Board& board, int column) {
  for (int row = 0; row < board.rows; ++row) {
    int const distance = board.rows - row;
    if (board.column[row] == column || board.column[row] == column - distance ||
        board.column[row] == column + distance)
      return false;
  }
  return true;
}

uint64_t solve(Board& board) {
  if (board.rows == board.size) return 1;
  uint64_t solutions = 0;
  for (int column = 0; column < board.size; ++column) {
    if (!safe(board, column)) continue;
    board.column[board.rows++] = column;
    solutions += solve(board);
    --board.rows;
  }
  return solutions;
}

std::atomic<uint64_t> solutions{0};

void spread(Pool& pool, const Board& board, int levels) {
  if (levels == 0) {
    Board mine = board;
    solutions.fetch_add(solve(mine), std::memory_order_relaxed);
    return;
  }
  for (int column = 0; column < board.size; ++column) {
    if (!safe(board, column)) continue;
    Board next = board;
    next.column[next.rows++] = column;
    pool.add([&pool, next, levels] { spread(pool, next, levels - 1); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  long const rounds = bench::scale(argc, argv, 15);
  for (long i = 0; i < rounds; ++i) {
    Pool pool;
    pool.add([&pool] { spread(pool, Board{11, 0, {}}, 4); });
    bench::in_two_threads([&](int) { pool.work(); });
  }
  return bench::report("tasks", solutions.load());
}
