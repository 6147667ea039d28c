// memcpy and its kin. Bytes are read as the program would read them: unknown ones end the world, except where
// they are only moved.
#include <algorithm>
#include <cstring>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

std::uint64_t as_result(int order) { return static_cast<std::uint32_t>(order); }

void do_copy(ModelCall& call) {
  call.live.copy(*call.self.thread, call.word(0), call.word(1), call.word(2));
  call.result(call.word(0));
}

void do_mempcpy(ModelCall& call) {
  do_copy(call);
  call.result(call.word(0) + call.word(2));
}

void fill(ModelCall& call, std::uint64_t to, char byte, std::uint64_t size) {
  const std::string bytes(std::min<std::uint64_t>(size, 1 << 20), byte);
  for (std::uint64_t at = 0; at < size; at += bytes.size())
    call.live.store_bytes(Address(to + at), std::string_view(bytes).substr(
                                                0, std::min<std::uint64_t>(bytes.size(), size - at)));
}

void do_memset(ModelCall& call) {
  fill(call, call.word(0), static_cast<char>(call.word(1)), call.word(2));
  call.result(call.word(0));
}

void do_bzero(ModelCall& call) { fill(call, call.word(0), 0, call.word(1)); }
void do_bcopy(ModelCall& call) {
  call.live.copy(*call.self.thread, call.word(1), call.word(0), call.word(2));
}

// Byte by byte, and no further than the first difference: what is behind need not be known.
void do_memcmp(ModelCall& call) {
  for (std::uint64_t i = 0; i < call.word(2); ++i) {
    const int a = call.live.load_byte(Address(call.word(0) + i));
    const int b = call.live.load_byte(Address(call.word(1) + i));
    if (a != b) return call.result(as_result(a - b));
  }
  call.result(std::uint64_t{0});
}

void do_memchr(ModelCall& call) {
  for (std::uint64_t i = 0; i < call.word(2); ++i)
    if (call.live.load_byte(Address(call.word(0) + i)) == static_cast<std::uint8_t>(call.word(1)))
      return call.result(call.word(0) + i);
  call.result(std::uint64_t{0});
}

void do_memrchr(ModelCall& call) {
  for (std::uint64_t i = call.word(2); i != 0; --i)
    if (call.live.load_byte(Address(call.word(0) + i - 1)) == static_cast<std::uint8_t>(call.word(1)))
      return call.result(call.word(0) + i - 1);
  call.result(std::uint64_t{0});
}

void do_memmem(ModelCall& call) {
  const std::string all = call.live.load_bytes(call.address(0), call.word(1));
  const std::size_t at = all.find(call.live.load_bytes(call.address(2), call.word(3)));
  call.result(at == std::string::npos ? std::uint64_t{0} : call.word(0) + at);
}

}  // namespace

std::span<const Model> memory_models() {
  static const Model models[] = {
      {"memcpy", do_copy},         {"memmove", do_copy},    {"__memcpy_chk", do_copy},
      {"__memmove_chk", do_copy},  {"mempcpy", do_mempcpy}, {"memset", do_memset},
      {"__memset_chk", do_memset}, {"bzero", do_bzero},     {"explicit_bzero", do_bzero},
      {"bcopy", do_bcopy},         {"memcmp", do_memcmp},   {"bcmp", do_memcmp},
      {"memchr", do_memchr},       {"memrchr", do_memrchr}, {"memmem", do_memmem},
  };
  return models;
}

}  // namespace deadheat::replay::live
