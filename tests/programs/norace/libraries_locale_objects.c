// rule: libraries
// claim: libc's tables of locales and conversions are made by one thread and freed by another, under locks of its own
// expect: nothing
#define _GNU_SOURCE
#include <iconv.h>
#include <locale.h>
#include <wchar.h>

#include "../order.h"

static locale_t shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

// Objects of its own, whose tables all threads have in common.
static void* own(void* _) {
  for (int i = 0; i < 100; i++) {
    locale_t const mine = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    if (mine == (locale_t)0) abort();
    uselocale(mine);
    locale_t const copy = duplocale(mine);
    wchar_t wide[8];
    if (mbstowcs(wide, "abc", 8) != 3) abort();
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(copy);
    freelocale(mine);
    iconv_t const conversion = iconv_open("UTF-16", "UTF-8");
    if (conversion != (iconv_t)-1) iconv_close(conversion);
    doze(50);
  }
  pthread_mutex_lock(&mutex);
  uselocale(shared);
  uselocale(LC_GLOBAL_LOCALE);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  shared = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
  run3(own, own, own);
  freelocale(shared);
}
