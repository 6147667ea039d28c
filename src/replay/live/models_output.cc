// What a program writes, to whatever stream or descriptor: it all goes to the result's buffer, in the order
// in which it was written.
#include <algorithm>

#include "replay/live/format.h"
#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

void wrote(ModelCall& call, const std::string& text) {
  call.live.write_output(text);
  call.result(std::uint64_t{text.size()});
}

template <std::size_t kFormat>
void do_printf(ModelCall& call) {
  CallArguments arguments(call, kFormat + 1);
  wrote(call, format(call.live, call.live.load_text(call.address(kFormat)), arguments));
}

template <std::size_t kFormat>
void do_vprintf(ModelCall& call) {
  ListArguments arguments(call.live, call.address(kFormat + 1));
  wrote(call, format(call.live, call.live.load_text(call.address(kFormat)), arguments));
}

// To a buffer: all of it, or as much as fits.
void put(ModelCall& call, const std::string& text, std::uint64_t room) {
  if (room != 0) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), room - 1));
    call.live.store_bytes(call.address(0), std::string(text, 0, count) + '\0');
  }
  call.result(std::uint64_t{text.size()});
}

template <std::size_t kFormat, bool kBounded>
void do_sprintf(ModelCall& call) {
  CallArguments arguments(call, kFormat + 1);
  put(call, format(call.live, call.live.load_text(call.address(kFormat)), arguments),
      kBounded ? call.word(1) : ~std::uint64_t{0});
}

template <std::size_t kFormat, bool kBounded>
void do_vsprintf(ModelCall& call) {
  ListArguments arguments(call.live, call.address(kFormat + 1));
  put(call, format(call.live, call.live.load_text(call.address(kFormat)), arguments),
      kBounded ? call.word(1) : ~std::uint64_t{0});
}

void do_puts(ModelCall& call) { wrote(call, call.live.load_text(call.address(0)) + "\n"); }
void do_fputs(ModelCall& call) { wrote(call, call.live.load_text(call.address(0))); }
void do_putchar(ModelCall& call) {
  wrote(call, std::string(1, static_cast<char>(call.word(0))));
  call.result(call.word(0) & 0xff);
}
void do_fwrite(ModelCall& call) {
  wrote(call, call.live.load_bytes(call.address(0), call.word(1) * call.word(2)));
  call.result(call.word(2));
}
void do_write(ModelCall& call) { wrote(call, call.live.load_bytes(call.address(1), call.word(2))); }
void do_perror(ModelCall& call) {
  if (call.word(0) != 0) call.live.write_output(call.live.load_text(call.address(0)) + ": ");
  call.live.write_output("(errno)\n");
}
void do_nothing(ModelCall& call) { call.result(std::uint64_t{0}); }

// --- C++ streams: the standard ones only. Another one's buffer is not ours.

bool is_standard(ModelCall& call) {
  for (const char* name : {"_ZSt4cout", "_ZSt4cerr", "_ZSt4clog"})
    if (call.live.globals().address_of(name).value() == call.word(0) && call.word(0) != 0) return true;
  call.live.end(OutcomeKind::kLeft, 0, "output to a stream of the program's own");
}
void to_stream(ModelCall& call, const std::string& text) {
  if (!is_standard(call)) return;
  call.live.write_output(text);
  call.result(call.word(0));
}
void do_stream_text(ModelCall& call) { to_stream(call, call.live.load_text(call.address(1))); }
void do_stream_bytes(ModelCall& call) {
  to_stream(call, call.live.load_bytes(call.address(1), call.word(2)));
}
void do_stream_char(ModelCall& call) { to_stream(call, std::string(1, static_cast<char>(call.word(1)))); }
void do_stream_int(ModelCall& call) {
  to_stream(call, std::to_string(static_cast<std::int32_t>(call.word(1))));
}
void do_stream_unsigned(ModelCall& call) { to_stream(call, std::to_string(call.word32(1))); }
void do_stream_long(ModelCall& call) {
  to_stream(call, std::to_string(static_cast<std::int64_t>(call.word(1))));
}
void do_stream_unsigned_long(ModelCall& call) { to_stream(call, std::to_string(call.word(1))); }
void do_stream_bool(ModelCall& call) { to_stream(call, (call.word(1) & 1) != 0 ? "1" : "0"); }
void do_stream_double(ModelCall& call) {
  char text[64];
  std::snprintf(text, sizeof text, "%g", call.real(1));
  to_stream(call, text);
}
void do_stream_endl(ModelCall& call) { to_stream(call, "\n"); }
void do_stream_flush(ModelCall& call) { to_stream(call, ""); }
void do_stream_manipulator(ModelCall& call) {
  const std::uint64_t stream = call.word(0);
  call.live.call_function(call.self, call.word(1), {stream});
  call.result(stream);
}

}  // namespace

std::span<const Model> output_models() {
  static const Model models[] = {
      {"printf", do_printf<0>, again},
      {"__printf_chk", do_printf<1>, again},
      {"fprintf", do_printf<1>, again},
      {"__fprintf_chk", do_printf<2>, again},
      {"dprintf", do_printf<1>, again},
      {"vprintf", do_vprintf<0>, again},
      {"vfprintf", do_vprintf<1>, again},
      {"sprintf", do_sprintf<1, false>},
      {"__sprintf_chk", do_sprintf<3, false>},
      {"snprintf", do_sprintf<2, true>},
      {"__snprintf_chk", do_sprintf<4, true>},
      {"vsprintf", do_vsprintf<1, false>},
      {"vsnprintf", do_vsprintf<2, true>},
      {"__vsnprintf_chk", do_vsprintf<4, true>},
      {"puts", do_puts, again},
      {"fputs", do_fputs, again},
      {"fputs_unlocked", do_fputs, again},
      {"putchar", do_putchar, again},
      {"putc", do_putchar, again},
      {"fputc", do_putchar, again},
      {"_IO_putc", do_putchar, again},
      {"fwrite", do_fwrite, again},
      {"fwrite_unlocked", do_fwrite, again},
      {"write", do_write, again},
      {"perror", do_perror, again},
      {"fflush", do_nothing, again},
      {"setvbuf", do_nothing, again},
      {"setbuf", do_nothing, again},
      {"setlinebuf", do_nothing, again},
      {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", do_stream_text, again},
      {"_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l", do_stream_bytes,
       again},
      {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_c", do_stream_char, again},
      {"_ZNSolsEi", do_stream_int, again},
      {"_ZNSolsEs", do_stream_int, again},
      {"_ZNSolsEj", do_stream_unsigned, again},
      {"_ZNSolsEl", do_stream_long, again},
      {"_ZNSolsEx", do_stream_long, again},
      {"_ZNSolsEm", do_stream_unsigned_long, again},
      {"_ZNSolsEy", do_stream_unsigned_long, again},
      {"_ZNSolsEb", do_stream_bool, again},
      {"_ZNSolsEd", do_stream_double, again},
      {"_ZNSo9_M_insertIlEERSoT_", do_stream_long, again},
      {"_ZNSo9_M_insertImEERSoT_", do_stream_unsigned_long, again},
      {"_ZNSo9_M_insertIbEERSoT_", do_stream_bool, again},
      {"_ZNSo9_M_insertIdEERSoT_", do_stream_double, again},
      {"_ZNSo3putEc", do_stream_char, again},
      {"_ZNSo5writeEPKcl", do_stream_bytes, again},
      {"_ZNSo5flushEv", do_stream_flush, again},
      {"_ZSt4endlIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_", do_stream_endl, again},
      {"_ZSt5flushIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_", do_stream_flush, again},
      {"_ZNSolsEPFRSoS_E", do_stream_manipulator},
  };
  return models;
}

}  // namespace deadheat::replay::live
