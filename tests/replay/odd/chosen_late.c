// A function that is chosen when the program is loaded, among others of the program's own.
#include <stdio.h>

static int one(int x) { return x + 1; }
static int other(int x) { return x + 2; }
static volatile int choice = 1;

static int (*choose(void))(int) { return choice != 0 ? one : other; }
int chosen(int x) __attribute__((ifunc("choose")));

int main(void) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum = sum * 3 + chosen(i);
  printf("%d\n", sum);
}
