#include "testing/trace_builder.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "trace/std_text.h"

namespace deadheat::testing {

Trace build_trace(std::string_view text) {
  std::string lines;
  std::size_t number = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    if (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
      ++i;
      continue;
    }
    std::size_t end = i;
    int bars = 0;
    for (; end < text.size() && text[end] != ' ' && text[end] != '\n' && text[end] != '\t'; ++end) {
      if (text[end] == '|') ++bars;
    }
    lines.append(text.substr(i, end - i));
    if (bars == 1) lines += "|" + std::to_string(number);
    lines += '\n';
    ++number;
    i = end;
  }
  std::unique_ptr<TraceSource> source = std_source_of(lines, "trace of a test");
  Result<Trace> trace = read_all(*source);
  if (!trace.ok()) {
    std::fprintf(stderr, "%s\nin:\n%s", trace.error().message.c_str(), lines.c_str());
    std::abort();
  }
  return std::move(*trace);
}

std::string to_text(const Trace& trace) {
  std::string text;
  for (const Event& event : trace.events) text += to_std_line(trace.names, event) + "\n";
  return text;
}

}  // namespace deadheat::testing
