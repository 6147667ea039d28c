// Functions that are assembly from the first to the last instruction, called and calling back.
#include <stdio.h>

static int plus_one(int value) { return value + 1; }

__attribute__((naked, noinline)) static int twice(int value) { __asm__("leal (%rdi,%rdi), %eax\n\tret"); }

// int through(int (*function)(int), int value): calls it.
__attribute__((naked, noinline)) static int through(int (*function)(int), int value) {
  __asm__(
      "movq %rdi, %rax\n\t"
      "movl %esi, %edi\n\t"
      "subq $8, %rsp\n\t"
      "callq *%rax\n\t"
      "addq $8, %rsp\n\t"
      "ret");
}

int main(void) {
  int sum = 0;
  for (int i = 0; i < 10; i++) sum += twice(i) + through(plus_one, i);
  printf("%d\n", sum);
  return sum == 145 ? 0 : 1;
}
