// std::string, as far as libstdc++ has it compiled: an object of three words,
//
//   +0 the characters   +8 the length   +16 the capacity, or up to 15 characters and a 0 of its own
//
// A model takes the characters as they are, does what is asked to a string of this process, and puts the
// result back, into the same place if the capacity allows.
#include <algorithm>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

constexpr std::uint64_t kOwn = 16;      // where an object's own characters are
constexpr std::uint64_t kOwnMost = 15;  // how many
constexpr std::uint64_t kMost = (std::uint64_t{1} << 62) - 1;

// A string object of the program.
class Text {
 public:
  Text(ModelCall& call, std::uint64_t at) : call_(call), live_(call.live), at_(at) {}

  std::uint64_t data() const { return live_.load_number(Address(at_), 8); }
  std::uint64_t length() const { return live_.load_number(Address(at_ + 8), 8); }
  bool is_own() const { return data() == at_ + kOwn; }
  std::uint64_t capacity() const { return is_own() ? kOwnMost : live_.load_number(Address(at_ + kOwn), 8); }
  std::string get() const { return live_.load_bytes(Address(data()), length()); }

  void construct(std::string_view text) {
    live_.store_number(Address(at_), at_ + kOwn, 8);
    live_.store_number(Address(at_ + 8), 0, 8);
    put(text);
  }
  void put(std::string_view text) {
    if (text.size() > capacity()) renew(std::max<std::uint64_t>(text.size(), 2 * capacity()));
    live_.store_bytes(Address(data()), std::string(text) + '\0');
    live_.store_number(Address(at_ + 8), text.size(), 8);
  }
  // New memory for so many characters; those that were there are gone.
  void renew(std::uint64_t capacity) {
    if (capacity > kMost) live_.end(OutcomeKind::kLeft, 0, "std::string that throws std::length_error");
    const std::uint64_t old = data();
    const bool was_own = is_own();
    live_.store_number(Address(at_), live_.memory().allocate(capacity + 1).value(), 8);
    live_.store_number(Address(at_ + kOwn), capacity, 8);
    if (!was_own) live_.memory().freed(Address(old), call_.open.site);
  }

 private:
  ModelCall& call_;
  LiveWorld& live_;
  const std::uint64_t at_;
};

Text self_of(ModelCall& call) { return {call, call.word(0)}; }
std::string bytes_of(ModelCall& call, std::size_t pointer, std::size_t size) {
  return call.live.load_bytes(call.address(pointer), call.word(size));
}

// A position beyond the end throws.
void check_position(ModelCall& call, const std::string& text, std::uint64_t position) {
  if (position > text.size())
    call.live.end(OutcomeKind::kLeft, 0, "std::string that throws std::out_of_range");
}

void replace(ModelCall& call, std::uint64_t position, std::uint64_t count, const std::string& by) {
  Text self = self_of(call);
  std::string text = self.get();
  check_position(call, text, position);
  self.put(text.replace(position, count, by));
  call.result(call.word(0));
}

void do_append(ModelCall& call) { replace(call, self_of(call).length(), 0, bytes_of(call, 1, 2)); }
void do_append_text(ModelCall& call) {
  replace(call, self_of(call).length(), 0, call.live.load_text(call.address(1)));
}
void do_append_string(ModelCall& call) {
  replace(call, self_of(call).length(), 0, Text(call, call.word(1)).get());
}
void do_append_char(ModelCall& call) {
  replace(call, self_of(call).length(), 0, std::string(1, static_cast<char>(call.word(1))));
}
void do_assign(ModelCall& call) {
  self_of(call).put(Text(call, call.word(1)).get());
  call.result(call.word(0));
}
void do_assign_text(ModelCall& call) {
  self_of(call).put(call.live.load_text(call.address(1)));
  call.result(call.word(0));
}
void do_assign_bytes(ModelCall& call) {
  self_of(call).put(bytes_of(call, 1, 2));
  call.result(call.word(0));
}
void do_move(ModelCall& call) {
  do_assign(call);
  if (call.word(1) != call.word(0)) Text(call, call.word(1)).put("");
}
// (this, position, count, bytes, size)
void do_replace(ModelCall& call) { replace(call, call.word(1), call.word(2), bytes_of(call, 3, 4)); }
// (this, position, count, times, character)
void do_replace_aux(ModelCall& call) {
  replace(call, call.word(1), call.word(2), std::string(call.word(3), static_cast<char>(call.word(4))));
}
void do_erase(ModelCall& call) { replace(call, call.word(1), call.word(2), {}); }
void do_resize(ModelCall& call) {
  Text self = self_of(call);
  std::string text = self.get();
  text.resize(call.word(1), static_cast<char>(call.open.count > 2 ? call.word(2) : 0));
  self.put(text);
}
void do_reserve(ModelCall& call) {
  Text self = self_of(call);
  if (call.word(1) <= self.capacity()) return;
  const std::string text = self.get();
  self.renew(std::max(call.word(1), 2 * self.capacity()));
  self.put(text);
}

// _M_create(capacity&, old): memory for a string to come.
void do_create(ModelCall& call) {
  std::uint64_t capacity = call.live.load_number(call.address(1), 8);
  if (capacity > kMost) call.live.end(OutcomeKind::kLeft, 0, "std::string that throws std::length_error");
  if (capacity > call.word(2) && capacity < 2 * call.word(2)) capacity = 2 * call.word(2);
  call.live.store_number(call.address(1), capacity, 8);
  call.result(call.live.memory().allocate(capacity + 1).value());
}

// _M_mutate(position, count, bytes or null, size): new memory with a gap; the length is the caller's.
void do_mutate(ModelCall& call) {
  Text self = self_of(call);
  const std::string text = self.get();
  const std::uint64_t position = call.word(1), count = call.word(2), size = call.word(4);
  check_position(call, text, position);
  const std::string by = call.word(3) == 0 ? std::string() : bytes_of(call, 3, 4);
  const std::uint64_t old = self.capacity();
  std::uint64_t capacity = text.size() + size - count;
  if (capacity > old && capacity < 2 * old) capacity = 2 * old;
  self.renew(capacity);
  call.live.store_bytes(Address(self.data()), text.substr(0, position));
  call.live.store_bytes(Address(self.data() + position), by);
  call.live.store_bytes(Address(self.data() + position + size),
                        text.substr(std::min<std::uint64_t>(position + count, text.size())));
}

void do_copy_construct(ModelCall& call) { self_of(call).construct(Text(call, call.word(1)).get()); }
// (this, string, position, count)
void do_substring_construct(ModelCall& call) {
  const std::string text = Text(call, call.word(1)).get();
  check_position(call, text, call.word(2));
  self_of(call).construct(text.substr(call.word(2), call.open.count > 3 ? call.word(3) : std::string::npos));
}
void do_text_construct(ModelCall& call) { self_of(call).construct(call.live.load_text(call.address(1))); }
void do_range_construct(ModelCall& call) {
  self_of(call).construct(call.live.load_bytes(call.address(1), call.word(2) - call.word(1)));
}
// (this, count, character)
void do_fill_construct(ModelCall& call) {
  self_of(call).construct(std::string(call.word(1), static_cast<char>(call.word(2))));
}
void do_empty_construct(ModelCall& call) { self_of(call).construct(""); }
void do_destroy(ModelCall& call) {
  Text self = self_of(call);
  if (!self.is_own()) call.live.memory().freed(Address(self.data()), call.open.site);
}
void do_swap(ModelCall& call) {
  Text self = self_of(call), other(call, call.word(1));
  const std::string mine = self.get(), theirs = other.get();
  self.put(theirs);
  other.put(mine);
}

// --- What unoptimised code calls

void do_length(ModelCall& call) { call.result(self_of(call).length()); }
void do_capacity(ModelCall& call) { call.result(self_of(call).capacity()); }
void do_data(ModelCall& call) { call.result(self_of(call).data()); }
void do_end(ModelCall& call) { call.result(self_of(call).data() + self_of(call).length()); }
void do_is_empty(ModelCall& call) { call.result(std::uint64_t{self_of(call).length() == 0 ? 1u : 0u}); }
void do_element(ModelCall& call) { call.result(self_of(call).data() + call.word(1)); }
void do_last(ModelCall& call) { call.result(self_of(call).data() + self_of(call).length() - 1); }
void do_clear(ModelCall& call) { self_of(call).put(""); }
void do_nothing(ModelCall&) {}

void compare(ModelCall& call, const std::string& with) {
  const int order = self_of(call).get().compare(with);
  call.result(std::uint64_t{static_cast<std::uint32_t>(order)});
}
void do_compare(ModelCall& call) { compare(call, Text(call, call.word(1)).get()); }
void do_compare_text(ModelCall& call) { compare(call, call.live.load_text(call.address(1))); }

void do_find(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().find(bytes_of(call, 1, 3), call.word(2))});
}
void do_rfind(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().rfind(bytes_of(call, 1, 3), call.word(2))});
}
void do_find_char(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().find(static_cast<char>(call.word(1)), call.word(2))});
}
void do_rfind_char(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().rfind(static_cast<char>(call.word(1)), call.word(2))});
}
void do_find_first_of(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().find_first_of(bytes_of(call, 1, 3), call.word(2))});
}
void do_find_first_not_of(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().find_first_not_of(bytes_of(call, 1, 3), call.word(2))});
}
void do_find_last_of(ModelCall& call) {
  call.result(std::uint64_t{self_of(call).get().find_last_of(bytes_of(call, 1, 3), call.word(2))});
}

}  // namespace

#define STRING "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
#define CONST_STRING "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"

std::span<const Model> cxx_string_models() {
  static const Model models[] = {
      {STRING "9_M_appendEPKcm", do_append},
      {STRING "6appendEPKcm", do_append},
      {STRING "6appendEPKc", do_append_text},
      {STRING "6appendERKS4_", do_append_string},
      {STRING "9push_backEc", do_append_char},
      {STRING "pLEPKc", do_append_text},
      {STRING "pLERKS4_", do_append_string},
      {STRING "pLEc", do_append_char},
      {STRING "9_M_assignERKS4_", do_assign},
      {STRING "6assignERKS4_", do_assign},
      {STRING "aSERKS4_", do_assign},
      {STRING "aSEOS4_", do_move},
      {STRING "6assignEPKc", do_assign_text},
      {STRING "aSEPKc", do_assign_text},
      {STRING "6assignEPKcm", do_assign_bytes},
      {STRING "10_M_replaceEmmPKcm", do_replace},
      {STRING "7replaceEmmPKcm", do_replace},
      {STRING "14_M_replace_auxEmmmc", do_replace_aux},
      {STRING "8_M_eraseEmm", do_erase},
      {STRING "5eraseEmm", do_erase},
      {STRING "6resizeEmc", do_resize},
      {STRING "6resizeEm", do_resize},
      {STRING "7reserveEm", do_reserve},
      {STRING "9_M_createERmm", do_create, again},
      {STRING "9_M_mutateEmmPKcm", do_mutate},
      {STRING "C1ERKS4_", do_copy_construct},
      {STRING "C2ERKS4_", do_copy_construct},
      {STRING "C1ERKS4_mm", do_substring_construct},
      {STRING "C2ERKS4_mm", do_substring_construct},
      {STRING "C1EPKcRKS3_", do_text_construct},
      {STRING "C2EPKcRKS3_", do_text_construct},
      {STRING "C1IS3_EEPKcRKS3_", do_text_construct},
      {STRING "C2IS3_EEPKcRKS3_", do_text_construct},
      {STRING "12_M_constructIPKcEEvT_S8_St20forward_iterator_tag", do_range_construct},
      {STRING "12_M_constructIPcEEvT_S7_St20forward_iterator_tag", do_range_construct},
      {STRING "12_M_constructEmc", do_fill_construct},
      {STRING "C1Ev", do_empty_construct},
      {STRING "C2Ev", do_empty_construct},
      {STRING "C1ERKS3_", do_empty_construct},
      {STRING "5clearEv", do_clear},
      {CONST_STRING "4sizeEv", do_length},
      {CONST_STRING "6lengthEv", do_length},
      {CONST_STRING "8capacityEv", do_capacity},
      {CONST_STRING "4dataEv", do_data},
      {CONST_STRING "5c_strEv", do_data},
      {CONST_STRING "5beginEv", do_data},
      {STRING "5beginEv", do_data},
      {CONST_STRING "3endEv", do_end},
      {STRING "3endEv", do_end},
      {CONST_STRING "5emptyEv", do_is_empty},
      {STRING "ixEm", do_element},
      {CONST_STRING "ixEm", do_element},
      {STRING "4backEv", do_last},
      {"_ZNSaIcEC1Ev", do_nothing},
      {"_ZNSaIcEC2Ev", do_nothing},
      {"_ZNSaIcED1Ev", do_nothing},
      {"_ZNSaIcED2Ev", do_nothing},
      {STRING "D1Ev", do_destroy},
      {STRING "D2Ev", do_destroy},
      {STRING "10_M_disposeEv", do_destroy},
      {STRING "4swapERS4_", do_swap},
      {CONST_STRING "7compareERKS4_", do_compare},
      {CONST_STRING "7compareEPKc", do_compare_text},
      {CONST_STRING "4findEPKcmm", do_find},
      {CONST_STRING "4findEcm", do_find_char},
      {CONST_STRING "5rfindEPKcmm", do_rfind},
      {CONST_STRING "5rfindEcm", do_rfind_char},
      {CONST_STRING "13find_first_ofEPKcmm", do_find_first_of},
      {CONST_STRING "17find_first_not_ofEPKcmm", do_find_first_not_of},
      {CONST_STRING "12find_last_ofEPKcmm", do_find_last_of},
      {CONST_STRING "6substrEmm", do_substring_construct},
  };
  return models;
}

}  // namespace deadheat::replay::live
