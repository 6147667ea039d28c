// Characters of other sets, expressions, tables and searches.
#include "runtime/interpose/results.h"

#include <fnmatch.h>
#include <iconv.h>
#include <locale.h>
#include <monetary.h>
#include <regex.h>
#include <search.h>
#include <stdlib.h>
#include <uchar.h>
#include <wchar.h>

using namespace deadheat;
using namespace deadheat::interpose;

// --- One character. Without a state of the program's, the library has one for all threads, which these do
// not tell.
namespace {
constexpr size_t kIncomplete = static_cast<size_t>(-2);
constexpr size_t kInvalid = static_cast<size_t>(-1);
// What was looked at of `room` bytes.
size_t looked_at(size_t result, size_t room) {
  return result == kIncomplete ? room : result >= kInvalid ? 1 : result == 0 ? 1 : result;
}
}  // namespace
TELLS(int, mbtowc, (wchar_t * to, const char* from, size_t room), (to, from, room), NOTHING,
      from&& result >= 0 && call.reads(from, result == 0 ? 1u : static_cast<size_t>(result)) &&
          call.writes(to))
TELLS(int, mblen, (const char* from, size_t room), (from, room), NOTHING,
      from&& result >= 0 && call.reads(from, result == 0 ? 1u : static_cast<size_t>(result)))
TELLS(int, wctomb, (char* to, wchar_t from), (to, from), NOTHING,
      to&& result > 0 && call.writes(to, static_cast<size_t>(result)))
TELLS(size_t, mbrtowc, (wchar_t * to, const char* from, size_t room, mbstate_t* state),
      (to, from, room, state), call.reads(state),
      (!from || call.reads(from, looked_at(result, room))) &&
          (!from || result >= kIncomplete || call.writes(to)) && call.writes(state))
TELLS(size_t, mbrlen, (const char* from, size_t room, mbstate_t* state), (from, room, state),
      call.reads(state), (!from || call.reads(from, looked_at(result, room))) && call.writes(state))
TELLS(size_t, wcrtomb, (char* to, wchar_t from, mbstate_t* state), (to, from, state), call.reads(state),
      (!to || result == kInvalid || call.writes(to, result)) && call.writes(state))
TELLS(size_t, c16rtomb, (char* to, char16_t from, mbstate_t* state), (to, from, state), call.reads(state),
      (!to || result == kInvalid || call.writes(to, result)) && call.writes(state))
TELLS(size_t, c32rtomb, (char* to, char32_t from, mbstate_t* state), (to, from, state), call.reads(state),
      (!to || result == kInvalid || call.writes(to, result)) && call.writes(state))

// --- Strings of them. `*from` is left behind what was converted, or null at the end of the string.
#define CONVERTS(name, To, From, parameters, arguments)                                                \
  INTERPOSE(size_t, name, DH_PLAIN parameters) {                                                       \
    Call const call(CALLER);                                                                           \
    call.reads(from);                                                                                  \
    call.reads(state);                                                                                 \
    const From* const begin = *from;                                                                   \
    size_t const result = REAL(name) arguments;                                                        \
    if (to != nullptr) {                                                                               \
      if (result != kInvalid) {                                                                        \
        size_t const read = *from != nullptr ? static_cast<size_t>(*from - begin) : length(begin) + 1; \
        call.reads(begin, read * sizeof(From));                                                        \
        call.writes(to, (result + (*from == nullptr ? 1 : 0)) * sizeof(To));                           \
      }                                                                                                \
      call.writes(from);                                                                               \
      call.writes(state);                                                                              \
    }                                                                                                  \
    return result;                                                                                     \
  }
CONVERTS(mbsrtowcs, wchar_t, char, (wchar_t * to, const char** from, size_t room, mbstate_t* state),
         (to, from, room, state))
CONVERTS(wcsrtombs, char, wchar_t, (char* to, const wchar_t** from, size_t room, mbstate_t* state),
         (to, from, room, state))
CONVERTS(mbsnrtowcs, wchar_t, char,
         (wchar_t * to, const char** from, size_t size, size_t room, mbstate_t* state),
         (to, from, size, room, state))
CONVERTS(wcsnrtombs, char, wchar_t,
         (char* to, const wchar_t** from, size_t size, size_t room, mbstate_t* state),
         (to, from, size, room, state))
INTERPOSE(size_t, iconv, iconv_t conversion, char** from, size_t* from_left, char** to, size_t* to_left) {
  Call const call(CALLER);
  // The conversion's own state belongs to whoever uses it: one byte stands for it.
  if (conversion != reinterpret_cast<iconv_t>(-1)) call.writes(conversion, 1);
  char* const from_begin = from != nullptr ? *from : nullptr;
  char* const to_begin = to != nullptr ? *to : nullptr;
  if (from_begin != nullptr) call.reads(from) && call.reads(from_left);
  if (to_begin != nullptr) call.reads(to) && call.reads(to_left);
  size_t const result = REAL(iconv)(conversion, from, from_left, to, to_left);
  if (from_begin != nullptr) {
    call.reads(from_begin, static_cast<size_t>(*from - from_begin));
    call.writes(from) && call.writes(from_left);
  }
  if (to_begin != nullptr) {
    call.writes(to_begin, static_cast<size_t>(*to - to_begin));
    call.writes(to) && call.writes(to_left);
  }
  return result;
}

// --- Locales. An object that is used is read; freelocale gives its block to `free`. The one of the C locale
// is everybody's, and never freed.
namespace {
bool reads_locale(const Call& call, locale_t locale) {
  return locale == nullptr || locale == LC_GLOBAL_LOCALE || call.reads(locale, 1);
}
}  // namespace
TELLS(locale_t, newlocale, (int mask, const char* name, locale_t base), (mask, name, base),
      call.text(name) && reads_locale(call, base), NOTHING)
TELLS(locale_t, duplocale, (locale_t locale), (locale), reads_locale(call, locale), NOTHING)
TELLS(locale_t, uselocale, (locale_t locale), (locale), reads_locale(call, locale), NOTHING)
TELLS(char*, setlocale, (int category, const char* name), (category, name), call.text(name), NOTHING)

// --- Expressions. A compiled one may be used by many threads at once: it is read.
TELLS(int, regcomp, (regex_t * to, const char* pattern, int flags), (to, pattern, flags), call.text(pattern),
      call.writes(to))
TELLS(int, regexec, (const regex_t* expression, const char* text, size_t count, regmatch_t* to, int flags),
      (expression, text, count, to, flags),
      call.reads(expression) && ((flags & REG_STARTEND) != 0 ? call.reads(to) : call.text(text)),
      result == 0 && !expression->no_sub && call.writes(to, count * sizeof *to))
TELLS(size_t, regerror, (int error, const regex_t* expression, char* to, size_t room),
      (error, expression, to, room), NOTHING, room != 0 && call.writes(to, result < room ? result : room))
TELLS_VOID(regfree, (regex_t * expression), (expression), call.writes(expression), NOTHING)
TELLS(int, fnmatch, (const char* pattern, const char* text, int flags), (pattern, text, flags),
      call.text(pattern) && call.text(text), NOTHING)

// --- Tables and searches. What the comparison reads, it says itself.
TELLS(int, hcreate_r, (size_t size, hsearch_data* table), (size, table), call.reads(table),
      call.writes(table))
TELLS_VOID(hdestroy_r, (hsearch_data * table), (table), call.writes(table), NOTHING)
INTERPOSE(int, hsearch_r, ENTRY item, ACTION action, ENTRY** to, hsearch_data* table) {
  Call const call(CALLER);
  call.text(item.key) && call.reads(table);
  unsigned const before = table->filled;
  int const result = REAL(hsearch_r)(item, action, to, table);
  if (table->filled != before) call.writes(&table->filled);
  call.writes(to);
  return result;
}
TELLS(void*, tsearch, (const void* key, void** root, int (*compare)(const void*, const void*)),
      (key, root, compare), call.reads_and_writes(root), NOTHING)
TELLS(void*, tdelete, (const void* key, void** root, int (*compare)(const void*, const void*)),
      (key, root, compare), call.reads_and_writes(root), NOTHING)
TELLS(void*, tfind, (const void* key, void* const* root, int (*compare)(const void*, const void*)),
      (key, root, compare), call.reads(root), NOTHING)
namespace {
struct Item {
  Item* next;
  Item* previous;
};
bool writes_neighbours(const Call& call, Item* item) {
  return (item->previous == nullptr || call.writes(&item->previous->next)) &&
         (item->next == nullptr || call.writes(&item->next->previous));
}
}  // namespace
TELLS_VOID(insque, (Item * item, Item* before), (item, before),
           before == nullptr || call.reads(&before->next), call.writes(item) && writes_neighbours(call, item))
TELLS_VOID(remque, (Item * item), (item), call.reads(item) && writes_neighbours(call, item), NOTHING)
INTERPOSE(void*, lsearch, const void* key, void* base, size_t* count, size_t size,
          int (*compare)(const void*, const void*)) {
  Call const call(CALLER);
  call.reads(count);
  size_t const before = *count;
  void* const found = REAL(lsearch)(key, base, count, size, compare);
  if (*count != before) call.reads(key, size) && call.writes(found, size) && call.writes(count);
  return found;
}
TELLS(void*, lfind,
      (const void* key, const void* base, size_t* count, size_t size,
       int (*compare)(const void*, const void*)),
      (key, base, count, size, compare), call.reads(count), NOTHING)
TELLS(int, getsubopt, (char** text, char* const* tokens, char** value), (text, tokens, value),
      call.reads(text), call.writes(text) && call.writes(value))
