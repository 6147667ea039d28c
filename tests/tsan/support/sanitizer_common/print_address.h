// What ThreadSanitizer's tests want of their print_address.h: addresses as their reports print them.
#pragma once
#include <stdarg.h>
#include <stdio.h>

static inline void print_address(const char* before, int count, ...) {
  va_list addresses;
  va_start(addresses, count);
  fprintf(stderr, "%s", before);
  for (int i = 0; i < count; i++)
    fprintf(stderr, "%s0x%012lx", i ? " " : "", (unsigned long)va_arg(addresses, void*));
  fprintf(stderr, "\n");
  va_end(addresses);
}
