// rule: memory functions
// claim: the same functions on strings of one's own do not race
// expect: nothing
#include <string.h>

#include "../order.h"

char one[32] = "abc", two[32] = "abc", three[32] = "abcdef", four[32] = "abcdef", five[32];
char copy[32];
enum { kWhere = 30 };

static void* writer(void* _) {
  ((volatile char*)one)[kWhere] = 'x';
  ((volatile char*)two)[kWhere + 1] = 'x';
  ((volatile char*)three)[kWhere + 1] = 'b';
  ((volatile char*)four)[kWhere + 1] = 'x';
  ((volatile char*)five)[kWhere + 1] = 'x';
  step();
  return NULL;
}

static void* user(void* _) {
  await(1);
  strcpy(copy, one);
  strcat(two, "def");
  use(strcmp(three, "abcdef"));
  use((long)strchr(four, 'd'));
  strncpy(five, "abc", steps_so_far() + 19);
  return NULL;
}

int main(void) { run2(writer, user); }
