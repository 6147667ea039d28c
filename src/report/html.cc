#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/frames.h"
#include "report/function_names.h"
#include "report/html_page.h"
#include "report/names.h"
#include "report/prose.h"
#include "report/source.h"

namespace deadheat::report {
namespace {

constexpr int kLinesAround = 3;

// Everything that is not our own markup passes through here: names come from the user's files.
std::string text(std::string_view raw) {
  std::string safe;
  for (char c : printable(raw)) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string stack_html(const Stack& whole) {
  Stack stack = without_thread_start(whole);
  std::string html = "<ol class=\"stack mono\">";
  for (std::size_t i = 0; i < stack.size(); i++) {
    const Location& frame = stack[i];
    html += fmt::format("<li{} title=\"{}\"><span class=\"n\">#{}</span>{}",
                        is_foreign(frame) ? " class=\"far\"" : "", text(frame.function), i,
                        text(function_text(frame)));
    std::string place = frame_place_text(frame);
    if (!place.empty()) html += fmt::format("<span class=\"at\">{}</span>", text(place));
    html += "</li>";
  }
  if (stack.empty()) html += "<li>(no stack)</li>";
  return html + "</ol>";
}

// The line with the character at the caret marked.
std::string line_html(const std::string& line, int caret) {
  std::size_t at = 0;
  for (int i = 0; i < caret && at < line.size(); i++) {
    do at++;
    while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80);
  }
  if (caret < 0 || at >= line.size()) return text(line);
  std::size_t end = at + 1;
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (c & 0x80) != 0;
  };
  while (end < line.size() && is_word(line[at]) && is_word(line[end])) end++;
  return fmt::format("{}<b>{}</b>{}", text(line.substr(0, at)), text(line.substr(at, end - at)),
                     text(line.substr(end)));
}

std::string excerpt_html(const Location& location, SourceCache& sources) {
  Excerpt excerpt = sources.excerpt(location, kLinesAround);
  if (excerpt.lines.empty()) return {};
  std::string html = "<pre class=\"source\">";
  for (std::size_t i = 0; i < excerpt.lines.size(); i++) {
    int number = excerpt.first_line + static_cast<int>(i);
    bool is_hit = number == location.line;
    html += fmt::format("<span{}><i>{:>5}  </i>{}</span>", is_hit ? " class=\"hit\"" : "", number,
                        line_html(excerpt.lines[i], is_hit ? excerpt.caret : -1));
  }
  return html + "</pre>";
}

std::string lock_html(const Lock& lock) {
  std::string html = fmt::format("<code>{}</code>", text(!lock.name.empty()  ? short_function(lock.name)
                                                         : lock.address != 0 ? hex(lock.address)
                                                                             : "one of many locks"));
  if (lock.shared) html += " (for reading)";
  if (!lock.acquired.empty())
    html += fmt::format(", taken at {}", text(place_text(own_frame(lock.acquired))));
  return html;
}

std::string access_html(const Finding& finding, const Access& access, SourceCache& sources) {
  std::string html = "<section class=\"side\">";
  html += fmt::format("<h3>{} by {}</h3>", text(operation_text(access)),
                      text(thread_text(finding, access.thread)));
  if (access.event) html += fmt::format("<p>event {} of the trace</p>", *access.event);
  if (std::string value = value_text(access); !value.empty()) {
    html += fmt::format("<p class=\"value\">{}</p>", text(value));
  }
  if (access.stack.empty() && !access.location.place.empty()) {
    html += fmt::format("<p>at place <code>{}</code></p>", text(access.location.place));
  } else {
    html += stack_html(access.stack);
  }
  html += excerpt_html(access.location, sources);
  for (const Lock& lock : access.locks) html += fmt::format("<p>holds {}</p>", lock_html(lock));
  if (access.locks.empty() && access.locks_known) html += "<p class=\"count\">holds no lock</p>";
  return html + "</section>";
}

std::string more_html(std::string_view title, const std::string& content) {
  return fmt::format("<details class=\"more\"><summary>{}</summary>{}</details>", text(title), content);
}

std::string schedule_html(const Finding& finding) {
  std::string html;
  if (finding.schedule.size() < finding.witness.size()) {
    html += fmt::format("<p>the last {} of {} events</p>", finding.schedule.size(), finding.witness.size());
  }
  html += "<table class=\"mono\"><tr><th>event</th><th>thread</th><th>does</th><th>place</th></tr>";
  for (const Step& step : finding.schedule) {
    bool is_racy = std::any_of(finding.accesses.begin(), finding.accesses.end(),
                               [&](const Access& access) { return access.event == step.event; });
    html += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                        is_racy ? " class=\"hit\"" : "", step.event, text(step.thread), text(step.operation),
                        text(step.place));
  }
  return html + "</table>";
}

std::string finding_html(const Report& report, const Finding& finding, SourceCache& sources) {
  std::string where;
  for (const Access& access : finding.accesses) {
    where += (where.empty() ? "" : "  ↔  ") + place_text(access.location);
  }
  std::string_view verdict = name_of(finding.verdict);
  std::string html = fmt::format(
      "<details class=\"finding\" id=\"f{}\" data-verdict=\"{}\"{}><summary><h2>{}</h2><span class=\"chip "
      "{}\">{}</span>"
      "<span class=\"chip mono\">{}</span><span class=\"where mono\">{}</span></summary><div class=\"body\">"
      "<div class=\"pair\">",
      text(finding.fingerprint), verdict, report.findings.size() <= 3 ? " open" : "",
      text(headline_text(finding)), verdict, verdict, text(finding.fingerprint), text(where));
  for (const Access& access : finding.accesses) html += access_html(finding, access, sources);
  html += "</div><dl>";
  auto row = [&](std::string_view title, const std::string& content) {
    if (!content.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>", title, text(content));
  };
  row("why", why_text(finding));
  row("how sure", sure_text(finding));
  auto listed = [](const std::vector<std::string>& detectors) {
    std::string list;
    for (const std::string& detector : detectors) list += (list.empty() ? "" : ", ") + detector;
    return list;
  };
  row("found by", listed(finding.detectors));
  row("the events shown by", listed(finding.shown_by));
  const bool is_trace = !finding.accesses.empty() && finding.accesses[0].event.has_value();
  if (!is_trace)
    row("seen", finding.instances == 1 ? std::string("once") : fmt::format("{} times", finding.instances));
  row("again", report.program.again);
  html += "</dl>";
  for (const Variable& variable : finding.variables) {
    if (!variable.allocated.empty())
      html += more_html("where the heap block was allocated", stack_html(variable.allocated));
    if (!variable.freed.empty()) html += more_html("where it was freed", stack_html(variable.freed));
  }
  for (const Thread& thread : finding.threads) {
    if (thread.created.empty()) continue;
    html += more_html(fmt::format("where {} was created", thread_text(finding, thread.id)),
                      stack_html(thread.created));
  }
  if (!finding.witness.empty()) html += more_html("a schedule that shows it", schedule_html(finding));
  if (!finding.witness_prefix.empty()) {
    html += more_html("a schedule that shows it", fmt::format("<p>{}</p>", text(prefix_text(finding))));
  }
  return html + "</div></details>\n";
}

std::string filter_html(const Report& report) {
  std::string html =
      "<div class=\"bar\"><input type=\"search\" id=\"filter\" placeholder=\"filter by function, file, "
      "variable, ...\" "
      "aria-label=\"filter\">";
  for (Verdict verdict : {Verdict::kHarmful, Verdict::kUnclassified, Verdict::kBenign, Verdict::kOrdered}) {
    auto count = std::count_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& finding) { return finding.verdict == verdict; });
    if (count == 0) continue;
    html += fmt::format("<label><input type=\"checkbox\" value=\"{0}\" checked> {0} ({1})</label>",
                        name_of(verdict), count);
  }
  return html +
         "<button id=\"fold\">open or close all</button><span class=\"count\" id=\"count\"></span></div>\n";
}

}  // namespace

std::string render_html(const Report& report) {
  SourceCache sources;
  std::string command;
  for (const std::string& word : report.program.command)
    command += (command.empty() ? "" : " ") + shell_quoted(word);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>deadheat: {}</title><style>{}</style></head><body>\n<header><h1>{}</h1>",
      text(command), kHtmlStyle, text(summary_text(report)));
  html += fmt::format("<p><code>{}</code></p><p>{} lane, exit code {}, deadheat {}</p>", text(command),
                      text(report.mode), report.program.exit, DEADHEAT_VERSION);
  for (const std::string& note : report.notes) html += fmt::format("<p>{}</p>", text(note));
  html += "</header>\n";
  if (report.findings.empty()) {
    html += "<p class=\"none\">nothing found</p>\n";
  } else {
    html += filter_html(report) + "<main>\n";
    for (const Finding& finding : report.findings) html += finding_html(report, finding, sources);
    html += "</main>\n";
  }
  if (!report.statistics.empty()) {
    std::string rows = "<dl>";
    for (const auto& [name, value] : report.statistics) {
      rows += fmt::format("<dt>{}</dt><dd class=\"mono\">{}</dd>", text(name), text(value));
    }
    html += more_html("statistics", rows + "</dl>");
  }
  return html + fmt::format("<script>{}</script></body></html>\n", kHtmlScript);
}

}  // namespace deadheat::report
