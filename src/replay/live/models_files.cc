// Files, as far as they can be done without: what is closed, flushed, or asked about itself. Nothing is
// opened, read, written or removed; output to descriptors and streams is in models_output.cc.
#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

void do_zero(ModelCall& call) { call.result(std::uint64_t{0}); }

// Of the three that everybody has.
void do_fileno(ModelCall& call) {
  const char* const names[] = {"stdin", "stdout", "stderr"};
  for (std::uint64_t number = 0; number < 3; ++number)
    if (const Address variable = call.live.globals().address_of(names[number]);
        variable.value() != 0 && call.live.memory().image().read(variable, 8) == call.word(0))
      return call.result(number);
  call.live.end(OutcomeKind::kLeft, 0, "fileno of a stream of the program's own");
}

void do_sysconf(ModelCall& call) {
  constexpr std::uint32_t kPageSize = 30, kConfigured = 83, kOnline = 84;  // of glibc
  switch (call.word32(0)) {
    case kPageSize:
      return call.result(std::uint64_t{4096});
    case kConfigured:
    case kOnline:
      return call.result(std::uint64_t{2});
    default:
      call.live.end(OutcomeKind::kLeft, 0, "sysconf of something");
  }
}

}  // namespace

std::span<const Model> file_models() {
  static const Model models[] = {
      {"close", do_zero, do_zero}, {"fclose", do_zero, do_zero}, {"fsync", do_zero, do_zero},
      {"fdatasync", do_zero},      {"ferror", do_zero, do_zero}, {"clearerr", do_zero, do_zero},
      {"isatty", do_zero},         {"fileno", do_fileno, again}, {"sysconf", do_sysconf},
      {"__sysconf", do_sysconf},   {"utime", do_zero},           {"utimensat", do_zero},
      {"chmod", do_zero},          {"chown", do_zero},           {"flockfile", do_zero},
      {"funlockfile", do_zero},
  };
  return models;
}

}  // namespace deadheat::replay::live
