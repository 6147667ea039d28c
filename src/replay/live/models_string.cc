// str*, strto*, wcs*: texts are copied out of the image, the host's own functions do the rest.
#include <strings.h>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

std::uint64_t as_result(int order) { return static_cast<std::uint32_t>(order); }

std::string text(ModelCall& call, std::size_t i) { return call.live.load_text(call.address(i)); }

void put_text(ModelCall& call, std::uint64_t to, const std::string& bytes) {
  call.live.store_bytes(Address(to), std::string_view(bytes.c_str(), bytes.size() + 1));
}

void do_strlen(ModelCall& call) { call.result(std::uint64_t{text(call, 0).size()}); }
void do_strnlen(ModelCall& call) {
  call.result(std::uint64_t{call.live.load_text(call.address(0), call.word(1)).size()});
}

template <bool kFolds, bool kBounded>
void do_strcmp(ModelCall& call) {
  const std::uint64_t limit = kBounded ? call.word(2) : ~std::uint64_t{0};
  for (std::uint64_t i = 0; i < limit; ++i) {
    int a = call.live.load_byte(Address(call.word(0) + i));
    int b = call.live.load_byte(Address(call.word(1) + i));
    if (kFolds) {
      a = std::tolower(a);
      b = std::tolower(b);
    }
    if (a != b) return call.result(as_result(a - b));
    if (a == 0) break;
  }
  call.result(std::uint64_t{0});
}

void do_strcpy(ModelCall& call) {
  put_text(call, call.word(0), text(call, 1));
  call.result(call.word(0));
}
void do_stpcpy(ModelCall& call) {
  const std::string from = text(call, 1);
  put_text(call, call.word(0), from);
  call.result(call.word(0) + from.size());
}
void do_strncpy(ModelCall& call) {
  std::string from = call.live.load_text(call.address(1), call.word(2));
  from.resize(call.word(2));
  call.live.store_bytes(call.address(0), from);
  call.result(call.word(0));
}
void do_strcat(ModelCall& call) {
  const std::string from = text(call, 1);
  put_text(call, call.word(0) + text(call, 0).size(), from);
  call.result(call.word(0));
}
void do_strncat(ModelCall& call) {
  const std::string from = call.live.load_text(call.address(1), call.word(2));
  put_text(call, call.word(0) + text(call, 0).size(), from);
  call.result(call.word(0));
}

void found(ModelCall& call, std::size_t i, std::size_t at) {
  call.result(at == std::string::npos ? std::uint64_t{0} : call.word(i) + at);
}
void do_strchr(ModelCall& call) {
  const std::string from = text(call, 0);
  const char wanted = static_cast<char>(call.word(1));
  found(call, 0, wanted == 0 ? from.size() : from.find(wanted));
}
void do_strrchr(ModelCall& call) {
  const std::string from = text(call, 0);
  const char wanted = static_cast<char>(call.word(1));
  found(call, 0, wanted == 0 ? from.size() : from.rfind(wanted));
}
void do_strstr(ModelCall& call) { found(call, 0, text(call, 0).find(text(call, 1))); }
void do_strspn(ModelCall& call) {
  call.result(std::uint64_t{std::strspn(text(call, 0).c_str(), text(call, 1).c_str())});
}
void do_strcspn(ModelCall& call) {
  call.result(std::uint64_t{std::strcspn(text(call, 0).c_str(), text(call, 1).c_str())});
}
void do_strpbrk(ModelCall& call) { found(call, 0, text(call, 0).find_first_of(text(call, 1))); }

void duplicate(ModelCall& call, const std::string& from) {
  const Address block = call.live.memory().allocate(from.size() + 1);
  put_text(call, block.value(), from);
  call.result(block.value());
}
void do_strdup(ModelCall& call) { duplicate(call, text(call, 0)); }
void do_strndup(ModelCall& call) { duplicate(call, call.live.load_text(call.address(0), call.word(1))); }

template <class Number>
void convert(ModelCall& call, Number (*function)(const char*, char**, int)) {
  const std::string from = text(call, 0);
  char* end = nullptr;
  const Number value = function(from.c_str(), &end, static_cast<int>(call.word(2)));
  if (call.word(1) != 0)
    call.live.store_number(call.address(1), call.word(0) + static_cast<std::uint64_t>(end - from.c_str()), 8);
  call.result(static_cast<std::uint64_t>(value));
}
void do_strtol(ModelCall& call) { convert(call, &std::strtol); }
void do_strtoul(ModelCall& call) { convert(call, &std::strtoul); }
void do_strtod(ModelCall& call) {
  const std::string from = text(call, 0);
  char* end = nullptr;
  const double value = std::strtod(from.c_str(), &end);
  if (call.word(1) != 0)
    call.live.store_number(call.address(1), call.word(0) + static_cast<std::uint64_t>(end - from.c_str()), 8);
  call.result(value);
}
void do_atoi(ModelCall& call) { call.result(as_result(std::atoi(text(call, 0).c_str()))); }
void do_atol(ModelCall& call) { call.result(static_cast<std::uint64_t>(std::atol(text(call, 0).c_str()))); }
void do_atof(ModelCall& call) { call.result(std::atof(text(call, 0).c_str())); }

void do_strerror(ModelCall& call) { duplicate(call, strerror(static_cast<int>(call.word(0)))); }

void do_wcslen(ModelCall& call) {
  std::uint64_t count = 0;
  while (call.live.load_number(Address(call.word(0) + 4 * count), 4) != 0) ++count;
  call.result(count);
}
void do_wmemset(ModelCall& call) {
  for (std::uint64_t i = 0; i < call.word(2); ++i)
    call.live.store_number(Address(call.word(0) + 4 * i), call.word32(1), 4);
  call.result(call.word(0));
}
void do_wmemcpy(ModelCall& call) {
  call.live.copy(*call.self.thread, call.word(0), call.word(1), 4 * call.word(2));
  call.result(call.word(0));
}
void do_wcscmp(ModelCall& call) {
  for (std::uint64_t i = 0;; ++i) {
    const auto a = static_cast<std::int32_t>(call.live.load_number(Address(call.word(0) + 4 * i), 4));
    const auto b = static_cast<std::int32_t>(call.live.load_number(Address(call.word(1) + 4 * i), 4));
    if (a != b) return call.result(as_result(a < b ? -1 : 1));
    if (a == 0) return call.result(std::uint64_t{0});
  }
}

template <int (*kFunction)(int)>
void do_ctype(ModelCall& call) {
  call.result(as_result(kFunction(static_cast<int>(call.word(0)))));
}

}  // namespace

std::span<const Model> string_models() {
  static const Model models[] = {
      {"strlen", do_strlen},
      {"strnlen", do_strnlen},
      {"strcmp", do_strcmp<false, false>},
      {"strcoll", do_strcmp<false, false>},
      {"strncmp", do_strcmp<false, true>},
      {"strcasecmp", do_strcmp<true, false>},
      {"strncasecmp", do_strcmp<true, true>},
      {"strcpy", do_strcpy},
      {"__strcpy_chk", do_strcpy},
      {"stpcpy", do_stpcpy},
      {"strncpy", do_strncpy},
      {"__strncpy_chk", do_strncpy},
      {"strcat", do_strcat},
      {"__strcat_chk", do_strcat},
      {"strncat", do_strncat},
      {"strchr", do_strchr},
      {"index", do_strchr},
      {"strrchr", do_strrchr},
      {"rindex", do_strrchr},
      {"strstr", do_strstr},
      {"strspn", do_strspn},
      {"strcspn", do_strcspn},
      {"strpbrk", do_strpbrk},
      {"strdup", do_strdup, again},
      {"__strdup", do_strdup, again},
      {"strndup", do_strndup, again},
      {"strtol", do_strtol},
      {"strtoll", do_strtol},
      {"__isoc23_strtol", do_strtol},
      {"__isoc23_strtoll", do_strtol},
      {"strtoul", do_strtoul},
      {"strtoull", do_strtoul},
      {"__isoc23_strtoul", do_strtoul},
      {"__isoc23_strtoull", do_strtoul},
      {"strtod", do_strtod},
      {"atoi", do_atoi},
      {"atol", do_atol},
      {"atoll", do_atol},
      {"atof", do_atof},
      {"strerror", do_strerror},
      {"wcslen", do_wcslen},
      {"wcscmp", do_wcscmp},
      {"wmemset", do_wmemset},
      {"wmemcpy", do_wmemcpy},
      {"wmemmove", do_wmemcpy},
      {"isalpha", do_ctype<isalpha>},
      {"isdigit", do_ctype<isdigit>},
      {"isalnum", do_ctype<isalnum>},
      {"isspace", do_ctype<isspace>},
      {"isupper", do_ctype<isupper>},
      {"islower", do_ctype<islower>},
      {"ispunct", do_ctype<ispunct>},
      {"isprint", do_ctype<isprint>},
      {"isxdigit", do_ctype<isxdigit>},
      {"toupper", do_ctype<toupper>},
      {"tolower", do_ctype<tolower>},
  };
  return models;
}

}  // namespace deadheat::replay::live
