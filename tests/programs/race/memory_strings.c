// rule: memory functions
// claim: strcpy, strcat, strcmp, strchr and strncpy read and write what they say
// expect: race write@a read@b
// expect: race write@c any@d
// expect: race write@e read@f
// expect: race write@g read@h
// expect: race write@i write@j
#include <string.h>

#include "../order.h"

char one[32] = "abc", two[32] = "abc", three[32] = "abcdef", four[32] = "abcdef", five[32];
char copy[32];
enum { kWhere = 0 };

static void* writer(void* _) {
  ((volatile char*)one)[kWhere] = 'x';         // @a
  ((volatile char*)two)[kWhere + 1] = 'x';     // @c
  ((volatile char*)three)[kWhere + 1] = 'b';   // @e
  ((volatile char*)four)[kWhere + 1] = 'x';    // @g
  ((volatile char*)five)[kWhere + 1] = 'x';    // @i
  step();
  return NULL;
}

static void* user(void* _) {
  await(1);
  strcpy(copy, one);                  // @b
  strcat(two, "def");                 // @d
  use(strcmp(three, "abcdef"));       // @f
  use((long)strchr(four, 'd'));       // @h
  strncpy(five, "abc", steps_so_far() + 19);  // @j
  return NULL;
}

int main(void) { run2(writer, user); }
