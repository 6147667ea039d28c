// rule: library results
// claim: what calls about characters, expressions and tables fill or read races with who reads or writes it meanwhile
// expect: race any@a any@aa
// expect: race any@b any@bb
// expect: race any@c any@cc
// expect: race any@d any@dd
// expect: race any@e any@ee
// expect: race any@f any@ff
// expect: race any@g any@gg
// expect: race any@h any@hh
#define _GNU_SOURCE
#include <iconv.h>
#include <regex.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../order.h"

static int compare(const void* a, const void* b) { return *(const char*)a - *(const char*)b; }
regex_t compiled;
regmatch_t match[2];
regex_t expression;
wchar_t character;
mbstate_t state;
wchar_t wide[8];
const char* narrow = "abc";
iconv_t conversion;
char from[] = "abc", to[32], *from_at = from, *to_at = to;
size_t from_left = 3, to_left = 32;
struct hsearch_data table;
ENTRY* entry;
void* tree;
int numbers[8] = {1, 2, 3};
size_t count = 3;

static void* first(void* _) {
  regexec(&compiled, "abc", 2, match, 0);                     // @a
  regcomp(&expression, "x", 0);                               // @b
  mbrtowc(&character, "x", 1, &state);                        // @c
  mbsrtowcs(wide, &narrow, 8, &state);                        // @d
  iconv(conversion, &from_at, &from_left, &to_at, &to_left);  // @e
  hsearch_r((ENTRY){"key", NULL}, ENTER, &entry, &table);     // @f
  tsearch("a", &tree, compare);                               // @g
  lsearch(&(int){4}, numbers, &count, sizeof(int), compare);  // @h
  step();
  return NULL;
}

static void* second(void* _) {
  await(1);
  use(match[0].rm_eo);                           // @aa
  use(regexec(&expression, "abc", 0, NULL, 0));  // @bb
  use(character);                                // @cc
  use(wide[2]);                                  // @dd
  use(to[2]);                                    // @ee
  use(entry == NULL);                            // @ff
  use(tfind("b", &tree, compare) != NULL);       // @gg
  use((long)count);                              // @hh
  return NULL;
}

int main(void) {
  if (regcomp(&compiled, "b", 0) != 0 || regcomp(&expression, "y", 0) != 0 || hcreate_r(10, &table) == 0) abort();
  conversion = iconv_open("UTF-16", "UTF-8");
  run2(first, second);
}
