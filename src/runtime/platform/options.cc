#include "runtime/platform/options.h"

#include "runtime/platform/c_strings.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/print.h"

extern "C" char** environ;

namespace deadheat::platform {
namespace {

char** given_environment;

// The value if `text` starts with `key=`.
const char* value_of(const char* text, const char* key) {
  while (*key != '\0' && *text == *key) ++text, ++key;
  return *key == '\0' && *text == '=' ? text + 1 : nullptr;
}

bool to_bool(const char* key, const char* value) {
  if (is_same(value, "1") || is_same(value, "true") || is_same(value, "yes")) return true;
  if (is_same(value, "0") || is_same(value, "false") || is_same(value, "no")) return false;
  die(2, "DEADHEAT_OPTIONS: %s: expected 0 or 1, found '%s'", key, value);
}

uint32_t to_exit_code(const char* value) {
  uint32_t number = 0;
  for (const char* p = value; *p != '\0'; ++p) {
    if (*p < '0' || *p > '9' || number > 255) number = 256;
    if (number < 256) number = number * 10 + static_cast<uint32_t>(*p - '0');
  }
  if (*value == '\0' || number > 255)
    die(2, "DEADHEAT_OPTIONS: exitcode: expected 0 to 255, found '%s'", value);
  return number;
}

int to_descriptor(const char* value) {
  int number = 0;
  for (const char* p = value; *p != '\0'; ++p) {
    if (*p < '0' || *p > '9' || number > 1 << 20)
      die(2, "DEADHEAT_OPTIONS: arena: expected a descriptor, found '%s'", value);
    number = number * 10 + (*p - '0');
  }
  return number;
}

// "12%", "0.5%" or "12", in hundredths of a percent.
uint32_t to_share(const char* key, const char* value) {
  uint32_t whole = 0;
  uint32_t hundredths = 0;
  const char* p = value;
  bool good = *p >= '0' && *p <= '9';
  for (; *p >= '0' && *p <= '9' && whole <= 100; ++p) whole = whole * 10 + static_cast<uint32_t>(*p - '0');
  if (*p == '.') {
    ++p;
    for (uint32_t weight = 10; *p >= '0' && *p <= '9'; ++p, weight /= 10)
      hundredths += weight * static_cast<uint32_t>(*p - '0');
  }
  if (*p == '%') ++p;
  uint32_t const share = whole * 100 + hundredths;
  if (!good || *p != '\0' || share == 0 || share > 10000)
    die(2, "DEADHEAT_OPTIONS: %s: expected a percentage above 0 and up to 100, found '%s'", key, value);
  return share;
}

uint32_t to_number(const char* key, const char* value, uint32_t low, uint32_t high) {
  uint32_t number = 0;
  bool good = *value != '\0';
  for (const char* p = value; *p != '\0' && good; ++p) {
    good = *p >= '0' && *p <= '9' && number <= high;
    number = number * 10 + static_cast<uint32_t>(*p - '0');
  }
  if (!good || number < low || number > high)
    die(2, "DEADHEAT_OPTIONS: %s: expected a number from %u to %u, found '%s'", key, low, high, value);
  return number;
}

Filter to_filter(const char* value) {
  if (is_same(value, "spans")) return Filter::kSpans;
  if (is_same(value, "tree")) return Filter::kTree;
  if (is_same(value, "none")) return Filter::kNone;
  die(2, "DEADHEAT_OPTIONS: filter: expected spans, tree or none, found '%s'", value);
}

// The process's number is appended, so a folder would get hidden files with names of numbers.
const char* to_log(const char* value) {
  size_t const length = length_of(value);
  if (length == 0 || value[length - 1] == '/')
    die(2, "DEADHEAT_OPTIONS: log: expected the beginning of a file's name, found '%s'", value);
  return value;
}

void take(Options& options, const char* item) {
  const char* v;
  if ((v = value_of(item, "log")))
    options.log = to_log(v);
  else if ((v = value_of(item, "tool")))
    options.tool = v;
  else if ((v = value_of(item, "filter")))
    options.filter = to_filter(v);
  else if ((v = value_of(item, "count")))
    options.count = to_bool("count", v);
  else if ((v = value_of(item, "quiet")))
    options.quiet = to_bool("quiet", v);
  else if ((v = value_of(item, "record")))
    options.record = v;
  else if ((v = value_of(item, "arena")))
    options.arena = to_descriptor(v);
  else if ((v = value_of(item, "exitcode")))
    options.exitcode = to_exit_code(v);
  else if ((v = value_of(item, "sample")))
    options.monitor.sample = to_share("sample", v);
  else if ((v = value_of(item, "budget")))
    options.monitor.budget = to_share("budget", v);
  else if ((v = value_of(item, "cap")))
    options.monitor.cap = to_number("cap", v, 0, 255);
  else if ((v = value_of(item, "random_cap")))
    options.monitor.random = to_bool("random_cap", v);
  else if ((v = value_of(item, "trace")))
    options.monitor.trace = to_bool("trace", v);
  else if ((v = value_of(item, "period")))
    options.monitor.period_ms = to_number("period", v, 1, 60000);
  else
    die(2, "DEADHEAT_OPTIONS: unknown option '%s'", item);
}

Options parse() {
  Options options;
  const char* text = nullptr;
  for (char** e = environment(); e != nullptr && *e != nullptr; ++e) {
    if (const char* v = value_of(*e, "DEADHEAT_OPTIONS")) text = v;
  }
  if (text == nullptr) return options;
  size_t const length = length_of(text);
  auto* const copy_of =
      static_cast<char*>(allocate(length + 1));  // values are kept for the life of the process
  copy(copy_of, text, length + 1);
  // Items are separated by blanks or colons; a colon that starts a path ("log=/a:b") is not expected in one.
  for (char* p = copy_of; *p != '\0';) {
    while (*p == ' ' || *p == ':') ++p;
    char* const item = p;
    while (*p != '\0' && *p != ' ' && *p != ':') ++p;
    bool const last = *p == '\0';
    *p = '\0';
    if (*item != '\0') take(options, item);
    if (last) break;
    ++p;
  }
  if (options.monitor.budget != 0 && options.monitor.sample != MonitorOptions().sample)
    die(2,
        "DEADHEAT_OPTIONS: sample and budget: expected one of them; a budget decides itself how much is "
        "monitored");
  return options;
}

}  // namespace

void set_environment(char** environment) { given_environment = environment; }
char** environment() { return environ != nullptr ? environ : given_environment; }

const Options* parsed_options;

const Options& parse_options() {
  static Options parsed;
  parsed = parse();  // first asked for while the process has one thread
  __atomic_store_n(&parsed_options, &parsed, __ATOMIC_RELEASE);
  return parsed;
}

}  // namespace deadheat::platform
