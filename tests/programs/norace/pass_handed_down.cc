// rule: escaping locals
// claim: a local that is handed to a function that lets go of its address, by release, does not race
// expect: nothing
#include <atomic>

#include "../order.h"

struct Pair {
  long first, second;
};

static std::atomic<const Pair*> published{nullptr};
static std::atomic<Pair*> published_result{nullptr};
static std::atomic<int> taken{0};

struct Reader {
  virtual ~Reader() = default;
  virtual long read(const Pair& pair) const;
  virtual void write(Pair& pair) const;
};
long Reader::read(const Pair& pair) const { return pair.first + pair.second; }
void Reader::write(Pair& pair) const { pair = {1, 2}; }

static void publish(const Pair& pair) {
  int const before = taken.load(std::memory_order_relaxed);
  published.store(&pair, std::memory_order_release);
  step();
  while (taken.load(std::memory_order_acquire) == before) doze(50);
}

struct Publisher : Reader {
  long read(const Pair& pair) const override {
    publish(pair);
    return 0;
  }
  void write(Pair& pair) const override {
    pair.second = 5;
    published_result.store(&pair, std::memory_order_release);
    step();
    while (published_result.load(std::memory_order_acquire)) doze(50);
  }
};

// In a loop, so that what was private the first time is not the second time.
__attribute__((noinline)) static long each(const Reader* const* readers, int count, long value) {
  long sum = 0;
  for (int i = 0; i < count; ++i)
    sum += readers[i]->read({value,
                             value + i});
  return sum;
}
// Something is released before the call: the write counts from before that.
__attribute__((noinline)) static long later(const Reader& reader, std::atomic<int>& flag, long value) {
  Pair const pair{value, value};
  flag.store(1, std::memory_order_release);
  return reader.read(pair);
}
// Only on one of two ways.
__attribute__((noinline)) static long sometimes(const Reader& reader, bool both, long value) {
  Pair pair;
  pair.first = value;
  pair.second = both ? value : 0;
  return both ? reader.read(pair) : 0;
}
__attribute__((noinline)) static long result_of(const Reader& reader) {
  Pair pair;
  reader.write(pair);
  long const first = pair.first;
  return first;
}

static std::atomic<int> flag;

static void* owner(void*) {
  Reader const reader;
  Publisher const publisher;
  const Reader* const readers[] = {&reader, &publisher};
  each(readers, 2, 7);
  later(reader, flag, 8);
  later(publisher, flag, 8);
  sometimes(publisher, false, 9);
  sometimes(publisher, true, 9);
  use(result_of(reader));
  use(result_of(publisher));
  return nullptr;
}

template <class Type>
static Type* take(std::atomic<Type*>& from) {
  Type* got;
  while ((got = from.load(std::memory_order_acquire)) == nullptr) doze(50);
  return got;
}
static void taken_again() {
  published.store(nullptr, std::memory_order_relaxed);
  taken.fetch_add(1, std::memory_order_release);
}

static void* reader(void*) {
  use(take(published)->first);
  taken_again();
  use(take(published)->first);
  taken_again();
  use(take(published)->second);
  taken_again();
  take(published_result)->first = 9;
  published_result.store(nullptr, std::memory_order_release);
  return nullptr;
}

int main() { run2(owner, reader); }
