// A program that replaces operator new and delete alone: all other forms end up there, as the standard says.
#include <stdlib.h>

#include <new>

#include "runtime/interpose/tests/fake_lane.h"

static int news;
static int deletes;
static bool fail;
void* operator new(size_t size) {
  ++news;
  if (fail) throw std::bad_alloc();
  return malloc(size);
}
void operator delete(void* block) noexcept {
  ++deletes;
  free(block);
}

int main() {
  char* volatile p = new char[5];
  CHECK(news == 1);
  delete[] p;
  CHECK(deletes == 1);
  p = new (std::nothrow) char[5];
  CHECK(news == 2);
  operator delete[](p, std::nothrow);
  CHECK(deletes == 2);
  int* volatile q = new int;
  operator delete(q, sizeof(int));
  CHECK(news == 3 && deletes == 3);
  fail = true;
  CHECK(operator new(4, std::nothrow) == nullptr);
  bool caught = false;
  try {
    p = new char[7];
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught);
  return 0;
}
