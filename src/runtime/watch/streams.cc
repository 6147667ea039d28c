// What libstdc++'s streams do to themselves and to the program's memory, told by the program's calls of them
// (src/instrument/stream_calls.h).
//
// What a call touches is read off the stream, by its layout, which is part of the library's ABI, and no more
// is told than every such call does:
//
//   all                 read the stream's state
//   output, input       move the position in the buffer, if there is something left in front of it (what a
//   buffer
//                       does that is full or empty is its class's business, which may be the program's)
//   formatting          reads the flags and the width; output, and input into strings, set the width to zero
//   unformatted input   sets gcount()
//   clear(), setstate() set the state
//   str(), tellp()      read the position; str(s) and close() write what the buffer knows of its contents
//
// A stream whose state is not good does nothing more. std::cout and its like may be used by many threads at
// once, and are not looked at; after sync_with_stdio(false) that is one freedom too many, and races there are
// not seen. Nor is what the buffers do to their own contents, but for their copying with memcpy, nor what
// fails.
#include "runtime/abi.h"
#include "runtime/lane.h"

using namespace deadheat;

// The standard streams, where there is a C++ library.
#define STANDARD_STREAM(name) extern "C" __attribute__((weak)) char standard_##name[] __asm__("_ZSt" #name)
STANDARD_STREAM(3cin);
STANDARD_STREAM(4cout);
STANDARD_STREAM(4cerr);
STANDARD_STREAM(4clog);
STANDARD_STREAM(4wcin);
STANDARD_STREAM(5wcout);
STANDARD_STREAM(5wcerr);
STANDARD_STREAM(5wclog);

// And the virtual tables of the buffers, behind their first two words.
#define BUFFER_TABLE(name, symbol) extern "C" __attribute__((weak)) void* const name[] __asm__(symbol)
BUFFER_TABLE(table_of_strings, "_ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE");
BUFFER_TABLE(table_of_wide_strings, "_ZTVNSt7__cxx1115basic_stringbufIwSt11char_traitsIwESaIwEEE");
BUFFER_TABLE(table_of_files, "_ZTVSt13basic_filebufIcSt11char_traitsIcEE");
BUFFER_TABLE(table_of_wide_files, "_ZTVSt13basic_filebufIwSt11char_traitsIwEE");

namespace {

struct Buffer {
  void* vtable;
  char* get[3];  // begin, position, end
  char* put[3];
};

// Follows in std::stringbuf, after the buffer's locale.
struct StringBuffer {
  Buffer buffer;
  void* locale;
  uint32_t mode;
};
constexpr uint32_t kOut = 16;

struct Ios {
  void* vtable;
  long precision;
  long width;
  uint32_t flags;
  uint32_t exceptions;
  uint32_t state;
  char others[196];
  Buffer* buffer;
};
static_assert(offsetof(Ios, state) == 32 && offsetof(Ios, buffer) == 232);

struct InputStream {
  const void* vtable;
  long count;
};

bool is_standard(const void* stream) {
  const char* const all[] = {standard_4cout,  standard_4cerr,  standard_4clog,  standard_3cin,
                             standard_5wcout, standard_5wcerr, standard_5wclog, standard_4wcin};
  for (const char* one : all) {
    // Not for the compiler to decide: a weak array may have no address.
    __asm__("" : "+r"(one));
    if (stream == one) return true;
  }
  return false;
}

bool has_table(const Buffer* buffer, void* const* table) {
  __asm__("" : "+r"(table));
  return table != nullptr && buffer->vtable == table + 2;
}
bool is_of_strings(const Buffer* buffer) {
  return has_table(buffer, table_of_strings) || has_table(buffer, table_of_wide_strings);
}
bool is_of_a_file(const Buffer* buffer) {
  return has_table(buffer, table_of_files) || has_table(buffer, table_of_wide_files);
}

// The virtual base of a stream: how far it is, stands three words in front of what the virtual table begins
// with.
Ios* ios_of(void* stream, uint32_t use) {
  if ((use & DH_STREAM_IOS) != 0) return static_cast<Ios*>(stream);
  long const offset = (*static_cast<const long* const*>(stream))[-3];
  return reinterpret_cast<Ios*>(static_cast<char*>(stream) + offset);
}

lane::Pc pc_of(void* address) { return {reinterpret_cast<uintptr_t>(address)}; }
#define DH_CALLER pc_of(__builtin_extract_return_addr(__builtin_return_address(0)))

struct String {
  char* text;
  size_t length;
};
constexpr unsigned kSizeShift = 24;

// The contents are looked at, or replaced.
void whole_buffer(Buffer* buffer, bool anew, lane::Pc pc) {
  bool const strings = is_of_strings(buffer);
  if (!anew) {
    if (strings || is_of_a_file(buffer)) lane::read(&buffer->put[1], sizeof buffer->put[1], pc);
    return;
  }
  if (strings || buffer->get[0] != nullptr) lane::write(&buffer->get, sizeof buffer->get, pc);
  bool const puts = strings && (reinterpret_cast<StringBuffer*>(buffer)->mode & kOut) != 0;
  if (puts || buffer->put[0] != nullptr) lane::write(&buffer->put, sizeof buffer->put, pc);
}

}  // namespace

void __dh_stream(void* stream, uint32_t use) {
  lane::Pc const pc = DH_CALLER;
  if (is_standard(stream)) return;
  if ((use & (DH_STREAM_LOOKS | DH_STREAM_NEW_BUFFER)) != 0) {
    bool const is_stream = (use & (DH_STREAM_OUTPUT | DH_STREAM_INPUT)) != 0;
    auto* const buffer = is_stream ? ios_of(stream, use)->buffer : static_cast<Buffer*>(stream);
    if (buffer != nullptr) whole_buffer(buffer, (use & DH_STREAM_NEW_BUFFER) != 0, pc);
    return;
  }
  Ios* const ios = ios_of(stream, use);
  if ((use & DH_STREAM_SETS_STATE) != 0) return lane::write(&ios->state, sizeof ios->state, pc);
  if ((use & DH_STREAM_IOS) != 0) return lane::read(&ios->state, sizeof ios->state, pc);
  Buffer* const buffer = ios->buffer;
  if ((use & DH_STREAM_COUNTS) != 0) {
    auto* const input = static_cast<InputStream*>(stream);
    lane::write(&input->count, sizeof input->count, pc);
  }
  lane::read(&ios->state, sizeof ios->state, pc);
  if (ios->state != 0) return;
  if ((use & DH_STREAM_FORMATS) != 0) {
    lane::read(&ios->flags, sizeof ios->flags, pc);
    if ((use & DH_STREAM_CLEARS_WIDTH) != 0) lane::write(&ios->width, sizeof ios->width, pc);
  }
  if (buffer == nullptr) return;
  if ((use & DH_STREAM_PUTS) != 0 &&
      (buffer->put[1] < buffer->put[2] || is_of_strings(buffer) || is_of_a_file(buffer)))
    lane::write(&buffer->put[1], sizeof buffer->put[1], pc);
  if ((use & DH_STREAM_GETS) != 0 && (buffer->get[1] < buffer->get[2] || is_of_a_file(buffer)))
    lane::write(&buffer->get[1], sizeof buffer->get[1], pc);
}

void __dh_stream_text(const void* string, uint32_t use) {
  lane::Pc const pc = DH_CALLER;
  auto* const text = static_cast<const String*>(string);
  lane::read(text, sizeof *text, pc);
  lane::read(text->text, text->length * (use >> kSizeShift), pc);
}

void __dh_stream_filled(void* stream, void* target, uint32_t use) {
  lane::Pc const pc = DH_CALLER;
  // Failed: perhaps nothing was stored.
  constexpr uint32_t kBad = 1;
  constexpr uint32_t kFail = 4;
  if ((ios_of(stream, use)->state & (kBad | kFail)) != 0) return;
  uint32_t const size = use >> kSizeShift;
  if ((use & DH_STREAM_FILLS_OBJECT) != 0) return lane::write(target, size, pc);
  auto* const text = static_cast<String*>(target);
  lane::write(&text->length, sizeof text->length, pc);
  lane::write(text->text, (text->length + 1) * size, pc);
}
