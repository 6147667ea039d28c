// Sorting and searching with the program's own comparisons; one sort is in the middle where the threads stop.
// A-B: exited with code 0
// A-B output: 1 2 3 4 5 6 7 8 9 10: 1 / kiwi pear apple banana; found pear, not fig
// B-A: exited with code 0
// B-A output: 10 9 8 7 6 5 4 3 2 1: 1 / kiwi pear apple banana; found pear, not fig
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sign = -1;
static int chosen;
static int numbers[10] = {3, 7, 1, 10, 5, 2, 9, 4, 8, 6};
static const char* words[] = {"banana", "kiwi", "apple", "pear"};

static int compare(const void* a, const void* b) {
  if (chosen == 0)
    chosen = sign;  // <B>
  return chosen * (*(const int*)a - *(const int*)b);
}
static int by_length(const void* a, const void* b) {
  return (int)strlen(*(char* const*)a) - (int)strlen(*(char* const*)b);
}
static int by_name(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }

static void* change(void* argument) {
  (void)argument;
  sign = 1;  // <A>
  return 0;
}

static void* sort(void* argument) {
  (void)argument;
  int before = 0, ok = 1;
  qsort(numbers, 10, sizeof numbers[0], compare);
  for (int i = 0; i < 10; ++i) {
    printf("%s%d", i == 0 ? "" : " ", numbers[i]);
    ok &= i == 0 || chosen * numbers[i] > chosen * before;
    before = numbers[i];
  }
  printf(": %d\n", ok);
  qsort(words, 4, sizeof words[0], by_length);
  for (int i = 0; i < 4; ++i) printf("%s%s", i == 0 ? "" : " ", words[i]);
  qsort(words, 4, sizeof words[0], by_name);
  const char *pear = "pear", *fig = "fig";
  printf("; found %s, ", *(const char**)bsearch(&pear, words, 4, sizeof words[0], by_name));
  printf("%s fig\n", bsearch(&fig, words, 4, sizeof words[0], by_name) == 0 ? "not" : "also");
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, change, 0);
  usleep(100000);
  pthread_create(&b, 0, sort, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
