// rule: library results
// claim: characters and matches come to places of each thread's own; a compiled expression may be used by all
// expect: nothing
#define _GNU_SOURCE
#include <iconv.h>
#include <regex.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../order.h"

static int compare(const void* a, const void* b) { return *(const char*)a - *(const char*)b; }
static regex_t compiled;
static struct hsearch_data table;
static void* fixed;
static char text[] = "abc";

static void* body(void* _) {
  iconv_t const conversion = iconv_open("UTF-16", "UTF-8");
  void* tree = NULL;
  for (int i = 0; i < 50; i++) {
    regmatch_t match[2];
    wchar_t wide[8];
    mbstate_t state;
    const char* narrow = text;
    char *from = text, to[32], *to_at = to;
    size_t from_left = 3, to_left = 32;
    if (regexec(&compiled, text, 2, match, 0) != 0 || match[0].rm_so != 1) abort();
    memset(&state, 0, sizeof state);
    if (mbsrtowcs(wide, &narrow, 8, &state) != 3 || mbrtowc(wide, text, 3, &state) != 1) abort();
    if (iconv(conversion, &from, &from_left, &to_at, &to_left) != 0) abort();
    ENTRY* entry;
    if (hsearch_r((ENTRY){"key", NULL}, FIND, &entry, &table) == 0) abort();
    use(wide[1] + to[2] + entry->key[0]);
    tsearch(text, &tree, compare);
    use(tfind(text, &fixed, compare) != NULL);
  }
  iconv_close(conversion);
  return NULL;
}

int main(void) {
  ENTRY* entry;
  if (regcomp(&compiled, "b", 0) != 0 || hcreate_r(10, &table) == 0) abort();
  hsearch_r((ENTRY){"key", NULL}, ENTER, &entry, &table);
  tsearch(text, &fixed, compare);
  run2(body, body);
}
