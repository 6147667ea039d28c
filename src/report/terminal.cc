#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "report/frames.h"
#include "report/function_names.h"
#include "report/names.h"
#include "report/prose.h"

namespace deadheat::report {
namespace {

enum class Ink { kHeadline, kPlace, kQuiet, kMark, kGood };

class Page {
 public:
  explicit Page(bool color) : color_(color) {}

  std::string ink(Ink ink, std::string_view text) const {
    if (!color_ || text.empty()) return std::string(text);
    static constexpr std::string_view kCodes[] = {"\033[1;31m", "\033[1m", "\033[2m", "\033[1;33m",
                                                  "\033[32m"};
    return fmt::format("{}{}\033[0m", kCodes[static_cast<int>(ink)], text);
  }

  void line(std::string_view text) {
    text_ += text;
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }

  void stack(const Stack& whole, std::string_view indent) {
    Stack stack = without_thread_start(whole);
    std::size_t width = 0;
    for (const Location& frame : stack) {
      width = std::max(width, std::min<std::size_t>(function_text(frame).size(), 44));
    }
    for (std::size_t i = 0; i < stack.size(); i++) {
      std::string function = printable(function_text(stack[i]));
      std::string place = printable(frame_place_text(stack[i]));
      std::string pad(width > function.size() ? width - function.size() : 0, ' ');
      if (place.empty()) {
        line(fmt::format("{}#{:<2} {}", indent, i, function));
      } else {
        Ink how = is_foreign(stack[i]) ? Ink::kQuiet : Ink::kPlace;
        line(fmt::format("{}#{:<2} {}{}  {}", indent, i, function, pad, ink(how, place)));
      }
    }
    if (stack.empty()) line(fmt::format("{}{}", indent, ink(Ink::kQuiet, "(no stack)")));
  }

  void excerpt(const Excerpt& excerpt, std::string_view indent) {
    if (excerpt.lines.empty()) return;
    std::string number = std::to_string(excerpt.first_line);
    line(
        fmt::format("{}{} {} {}", indent, ink(Ink::kQuiet, number), ink(Ink::kQuiet, "|"), excerpt.lines[0]));
    if (excerpt.caret >= 0) {
      line(fmt::format("{}{:{}} {} {:{}}{}", indent, "", number.size(), ink(Ink::kQuiet, "|"), "",
                       excerpt.caret, ink(Ink::kMark, "^")));
    }
  }

  std::string take() { return std::move(text_); }

 private:
  bool color_;
  std::string text_;
};

constexpr std::size_t kMostWhenInterrupted = 1000;

std::string lock_text(const Lock& lock) {
  std::string text = !lock.name.empty()  ? short_function(lock.name)
                     : lock.address != 0 ? hex(lock.address)
                                         : "one of many locks";
  if (lock.shared) text += " (for reading)";
  if (!lock.acquired.empty()) {
    Location place = own_frame(lock.acquired);
    text += fmt::format(", taken at {}", frame_place_text(place));
    if (!place.function.empty()) text += fmt::format(" in {}", function_text(place));
  }
  return printable(text);
}

void access_section(Page& page, const Finding& finding, const Access& access, SourceCache& sources) {
  std::string title = fmt::format("{} by {}", operation_text(access), thread_text(finding, access.thread));
  if (access.event) title += fmt::format(", event {}", *access.event);
  std::string value = value_text(access);
  page.line(fmt::format("  {}{}", page.ink(Ink::kPlace, printable(title)),
                        value.empty() ? "" : ", " + page.ink(Ink::kMark, printable(value))));
  if (access.stack.empty() && !access.location.place.empty()) {
    page.line(fmt::format("    at place {}", printable(access.location.place)));
  } else {
    page.stack(access.stack, "    ");
  }
  page.excerpt(sources.excerpt(access.location, 0), "        ");
  for (const Lock& lock : access.locks) page.line(fmt::format("    holds {}", lock_text(lock)));
  // The monitor lane keeps no account of locks.
  const bool is_known =
      std::find(finding.detectors.begin(), finding.detectors.end(), "monitor") == finding.detectors.end();
  if (access.locks.empty() && access.locks_known && is_known)
    page.line(page.ink(Ink::kQuiet, "    holds no lock"));
  page.blank();
}

void variable_sections(Page& page, const Finding& finding) {
  for (const Variable& variable : finding.variables) {
    if (!variable.allocated.empty()) {
      std::string by = variable.thread ? " by " + thread_text(finding, *variable.thread) : std::string();
      page.line(fmt::format("  the heap block was allocated{}", by));
      page.stack(variable.allocated, "    ");
      page.blank();
    }
    if (!variable.freed.empty()) {
      page.line("  and freed");
      page.stack(variable.freed, "    ");
      page.blank();
    }
  }
}

void thread_sections(Page& page, const Finding& finding) {
  for (const Thread& thread : finding.threads) {
    if (thread.created.empty()) continue;
    std::string by = thread.parent ? " by " + thread_text(finding, *thread.parent) : std::string();
    page.line(printable(fmt::format("  {} was created{}", thread_text(finding, thread.id), by)));
    page.stack(thread.created, "    ");
    page.blank();
  }
}

// A long schedule is read around its end, where the race is.
void witness_section(Page& page, const Finding& finding) {
  if (!finding.witness_prefix.empty()) {
    page.line("  a schedule that shows it:");
    page.line(printable("    " + prefix_text(finding)));
    page.blank();
  }
  if (finding.witness.empty()) return;
  page.line(fmt::format(
      "  a schedule that shows it{}",
      finding.schedule.size() < finding.witness.size()
          ? fmt::format(", the last {} of {} events", finding.schedule.size(), finding.witness.size())
          : ":"));
  std::size_t event_width = 5, thread_width = 6, operation_width = 6;
  for (const Step& step : finding.schedule) {
    event_width = std::max(event_width, std::to_string(step.event).size());
    thread_width = std::max(thread_width, std::min<std::size_t>(step.thread.size(), 24));
    operation_width = std::max(operation_width, std::min<std::size_t>(step.operation.size(), 40));
  }
  page.line(page.ink(Ink::kQuiet, fmt::format("    {:>{}}  {:<{}}  {:<{}}  place", "event", event_width,
                                              "thread", thread_width, "does", operation_width)));
  for (const Step& step : finding.schedule) {
    bool is_racy = std::any_of(finding.accesses.begin(), finding.accesses.end(),
                               [&](const Access& access) { return access.event == step.event; });
    std::string text =
        printable(fmt::format("{:>{}}  {:<{}}  {:<{}}  {}", step.event, event_width, step.thread,
                              thread_width, step.operation, operation_width, step.place));
    page.line(fmt::format("    {}{}", text, is_racy ? page.ink(Ink::kMark, "  <- races") : ""));
  }
  page.blank();
}

}  // namespace

std::string render_terminal(const Report& report, const Finding& finding, SourceCache& sources,
                            const TerminalOptions& options) {
  Page page(options.color);
  page.line(fmt::format("{} {}", page.ink(Ink::kHeadline, printable("deadheat: " + headline_text(finding))),
                        page.ink(Ink::kQuiet, "[" + finding.fingerprint + "]")));
  page.blank();
  for (const Access& access : finding.accesses) access_section(page, finding, access, sources);
  variable_sections(page, finding);
  thread_sections(page, finding);
  witness_section(page, finding);
  auto sentence = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) page.line(fmt::format("  {:<6} {}", fmt::format("{}:", title), printable(text)));
  };
  sentence("why", why_text(finding));
  sentence("sure", sure_text(finding));
  sentence("again", report.program.again);
  // In a trace, detectors look no further once they know the places: the number says nothing there.
  const bool is_trace = !finding.accesses.empty() && finding.accesses[0].event.has_value();
  if (finding.instances > 1 && !is_trace) sentence("seen", fmt::format("{} times", finding.instances));
  page.blank();
  return page.take();
}

std::string render_terminal_summary(const Report& report, const TerminalOptions& options) {
  Page page(options.color);
  for (const std::string& note : report.notes) page.line("deadheat: " + printable(note));
  bool is_clean = report.findings.empty();
  page.line(page.ink(is_clean ? Ink::kGood : Ink::kHeadline, "deadheat: " + summary_text(report)));
  return page.take();
}

std::string render_terminal(const Report& report, const TerminalOptions& options) {
  SourceCache sources;
  std::string text;
  const std::size_t shown = report.interrupted ? kMostWhenInterrupted : report.findings.size();
  for (std::size_t i = 0; i < std::min(shown, report.findings.size()); i++)
    text += render_terminal(report, report.findings[i], sources, options);
  if (shown < report.findings.size()) {
    text += fmt::format("deadheat: and {} more findings, which --json, --sarif and --html have\n",
                        report.findings.size() - shown);
  }
  return text + render_terminal_summary(report, options);
}

}  // namespace deadheat::report
