#include "replay/live/cxx_types.h"

#include <llvm/Demangle/Demangle.h>

#include "replay/live/live_world.h"

namespace deadheat::replay::live {

namespace {

// Name of a type ("St13runtime_error") and of its one base.
constexpr std::pair<const char*, const char*> kStandard[] = {
    {"St11logic_error", "St9exception"},
    {"St12domain_error", "St11logic_error"},
    {"St16invalid_argument", "St11logic_error"},
    {"St12length_error", "St11logic_error"},
    {"St12out_of_range", "St11logic_error"},
    {"St13runtime_error", "St9exception"},
    {"St11range_error", "St13runtime_error"},
    {"St14overflow_error", "St13runtime_error"},
    {"St15underflow_error", "St13runtime_error"},
    {"St12system_error", "St13runtime_error"},
    {"St9bad_alloc", "St9exception"},
    {"St20bad_array_new_length", "St9bad_alloc"},
    {"St8bad_cast", "St9exception"},
    {"St10bad_typeid", "St9exception"},
    {"St17bad_function_call", "St9exception"},
    {"St12bad_weak_ptr", "St9exception"},
    {"St12future_error", "St11logic_error"},
    {"St13bad_exception", "St9exception"},
    {"St18bad_variant_access", "St9exception"},
    {"St19bad_optional_access", "St9exception"},
    {"St12bad_any_cast", "St8bad_cast"},
};

// "St9exception" of the symbol "_ZTISt9exception".
std::string type_of_symbol(llvm::StringRef symbol) {
  return symbol.starts_with("_ZTI") ? symbol.drop_front(4).str() : std::string();
}

std::string mangled(LiveWorld& live, std::uint64_t type) {
  if (const std::string_view symbol = live.globals().name_at(Address(type)); !symbol.empty())
    return type_of_symbol(llvm::StringRef(symbol.data(), symbol.size()));
  // vtable, name, ...
  if (const auto name = live.memory().image().read(Address(type + 8), 8)) {
    std::string text;
    for (std::uint64_t at = *name; text.size() < 4096; ++at) {
      const auto byte = live.memory().image().read(Address(at), 1);
      if (!byte) return {};
      if (*byte == 0) return text;
      text.push_back(static_cast<char>(*byte));
    }
  }
  return {};
}

Match match(LiveWorld& live, std::uint64_t thrown, const std::string& thrown_name, const std::string& caught,
            unsigned depth) {
  Match result;
  result.name = caught;
  if (!thrown_name.empty() && thrown_name == caught) {
    result.kind = Match::kYes;
    return result;
  }
  if (thrown_name.empty() || depth > 32) {
    result.kind = Match::kUnknown;
    return result;
  }
  for (const auto& [derived, base] : kStandard)
    if (thrown_name == derived) return match(live, 0, base, caught, depth + 1);
  if (thrown_name == "St9exception") return result;
  if (thrown == 0) return result;
  // Fundamental types: one letter; pointers: a P in front. Neither has bases.
  if (thrown_name.size() == 1) return result;
  if (thrown_name[0] == 'P') {
    if (caught == "Pv" || caught == "PKv") {
      result.kind = Match::kYes;
      result.is_pointer = true;
    } else if (caught[0] == 'P') {
      result.kind = caught == "PK" + thrown_name.substr(1) ? Match::kYes : Match::kUnknown;
      result.is_pointer = true;
    }
    return result;
  }
  const auto vtable = live.memory().image().read(Address(thrown), 8);
  if (!vtable) {
    result.kind = Match::kUnknown;
    return result;
  }
  const std::string_view kind = live.globals().name_at(Address(*vtable - 16));
  const auto base_matches = [&](std::uint64_t base) {
    return match(live, base, mangled(live, base), caught, depth + 1);
  };
  if (kind == "_ZTVN10__cxxabiv117__class_type_infoE") return result;
  if (kind == "_ZTVN10__cxxabiv120__si_class_type_infoE") {
    const auto base = live.memory().image().read(Address(thrown + 16), 8);
    if (base) return base_matches(*base);
  }
  if (kind == "_ZTVN10__cxxabiv121__vmi_class_type_infoE") {
    const auto count = live.memory().image().read(Address(thrown + 20), 4);
    for (std::uint64_t i = 0; count && i < *count && i < 64; ++i) {
      const auto base = live.memory().image().read(Address(thrown + 24 + 16 * i), 8);
      const auto flags = live.memory().image().read(Address(thrown + 32 + 16 * i), 8);
      if (!base || !flags) break;
      Match found = base_matches(*base);
      if (found.kind == Match::kNo) {
        if (i + 1 == *count) return found;
        continue;
      }
      if ((*flags & 1) != 0) found.kind = Match::kUnknown;  // virtual: its place is in the object
      found.offset += *flags >> 8;
      return found;
    }
  }
  result.kind = Match::kUnknown;
  return result;
}

}  // namespace

Match match_type(LiveWorld& live, std::uint64_t thrown, llvm::StringRef caught_symbol, std::uint64_t caught) {
  if (thrown == caught) {
    Match same;
    same.kind = Match::kYes;
    const std::string name = type_of_symbol(caught_symbol);
    same.is_pointer = !name.empty() && name[0] == 'P';
    return same;
  }
  return match(live, thrown, mangled(live, thrown), type_of_symbol(caught_symbol), 0);
}

std::string type_name(LiveWorld& live, std::uint64_t type) {
  const std::string name = mangled(live, type);
  if (name.empty()) return "of an unknown type";
  const std::string readable = llvm::demangle("_ZTI" + name);
  constexpr std::string_view kPrefix = "typeinfo for ";
  return readable.starts_with(kPrefix) ? readable.substr(kPrefix.size()) : readable;
}

}  // namespace deadheat::replay::live
