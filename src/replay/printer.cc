#include "replay/printer.h"

#include <fmt/format.h>

#include "recording/names.h"
#include "replay/sites.h"

namespace deadheat::replay {

std::string Printer::at(SiteId site) const {
  return site.value() == 0 ? std::string() : "  " + place_of(program_, site).text();
}

void Printer::on_thread_begin(ThreadId thread) { write_(fmt::format("thread {} begins", thread.value())); }

void Printer::on_thread_end(ThreadId thread, const recording::End& end) {
  write_(fmt::format("thread {} ends: {}", thread.value(), recording::to_string(end.kind)));
}

void Printer::on_access(const Access& access) {
  if (!printed_.accesses) return;
  write_(fmt::format("thread {} {}{} {} byte{} at {:#x} {} {:#x} (access {}){}", access.thread.value(),
                     access.is_atomic ? "atomically " : "", access.is_write ? "writes" : "reads", access.size,
                     access.size == 1 ? "" : "s", access.address.value(), access.is_write ? "<-" : "->",
                     access.value, ++accesses_[access.thread], at(access.site)));
}

void Printer::on_library_access(ThreadId thread, SiteId site, const recording::LibraryAccess& access) {
  if (!printed_.accesses) return;
  const std::string callee = callee_of(program_, site);
  write_(fmt::format("thread {} {} {} bytes at {:#x} by {}{}", thread.value(),
                     access.kind == recording::AccessKind::kWrite ? "writes" : "reads", access.size,
                     access.address.value(), callee.empty() ? "a library" : callee, at(site)));
}

void Printer::on_sequencer(ThreadId thread, SiteId site, const recording::Sequencer& sequencer) {
  if (!printed_.synchronisation) return;
  std::string object;
  if (sequencer.object.value() != 0) object = fmt::format(" {:#x}", sequencer.object.value());
  using recording::SequencerKind;
  switch (sequencer.kind) {
    case SequencerKind::kThreadCreated:
    case SequencerKind::kThreadJoined:
    case SequencerKind::kThreadStarted:
      object = fmt::format(" thread {}", sequencer.other_thread().value());
      break;
    case SequencerKind::kAllocated:
    case SequencerKind::kMapped:
    case SequencerKind::kUnmapping:
    case SequencerKind::kUsable:
      object += fmt::format(", {} bytes", sequencer.extra);
      break;
    default:
      break;
  }
  write_(fmt::format("#{} thread {} {}{}{}", sequencer.number.value(), thread.value(),
                     recording::to_string(sequencer.kind), object, at(site)));
}

void Printer::on_callback(ThreadId thread, const recording::Callback& callback) {
  if (!printed_.calls) return;
  write_(fmt::format("thread {} is called back at {:#x}", thread.value(), callback.function.value()));
}

void Printer::on_enter(ThreadId thread, FunctionId function, SiteId site) {
  if (!printed_.calls) return;
  const Place place = place_of(program_, function);
  write_(fmt::format("thread {} enters {}{}", thread.value(), place.function,
                     site.value() == 0 ? std::string() : ", called at" + at(site).substr(1)));
}

void Printer::on_invisible_call(ThreadId thread, Address target, SiteId site) {
  if (!printed_.calls) return;
  const std::string callee = callee_of(program_, site);
  write_(fmt::format("thread {} calls {} (not recorded){}", thread.value(),
                     callee.empty() ? fmt::format("{:#x}", target.value()) : callee, at(site)));
}

}  // namespace deadheat::replay
