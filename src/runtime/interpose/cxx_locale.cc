// Locales of the C++ library: what they share, and what they remember.
//
// The facets of std::locale are shared by its copies. Each thread uses and destroys its own copy; letting go
// of one is ordered before the end of what they share, which the program sees as a free. Copying needs no
// order.
//
// What the facets of numbers and of money say is asked once (std::__numpunct_cache, __moneypunct_cache): the
// first thread that needs it asks, copies the answers and installs them in the locale, where all others find
// them by a load that nothing orders. Installing is a function of the library's, for the program's own
// instantiations, too (std::num_put of another iterator): there the memory becomes everybody's.
//
// std::ctype<char> caches what it has converted, in tables that it fills when they are first needed, without
// any order: every thread writes the same. The half of that which is in a header is left out by the compiler
// plugin (src/instrument/library_caches.h); the half in the library copies with memcpy, which is ignored.
#include "runtime/interpose/cxx_library.h"

using namespace deadheat;
using namespace deadheat::interpose;

// --- std::locale. A facet may belong to several locales that are not copies of each other, so all that there
// are let go of one object. The classic one, which most streams have, lives for ever.

namespace {
struct LocaleImplementation;
struct Locale {
  LocaleImplementation* implementation;
};
struct alignas(8) {
  char order;
} locales;
}  // namespace

WEAK_OTHER(const Locale*, _ZNSt6locale7classicEv, void);
WEAK_REAL(void, _ZNSt6localeD1Ev, Locale* self);
WEAK_REAL(void, _ZNSt6localeD2Ev, Locale* self);
WEAK_REAL(const Locale*, _ZNSt6localeaSERKS_, Locale* self, const Locale* other);
WEAK_REAL(void, _ZNSt6locale5_ImplD1Ev, LocaleImplementation* self);

namespace {
void lets_go_of_locale(const Locale* self) {
  auto* const classic = REAL_OR_NULL(_ZNSt6locale7classicEv);
  if (classic != nullptr && self->implementation == classic()->implementation) return;
  lane::release(&locales);
}
}  // namespace

INTERPOSE_ONLY(void, _ZNSt6localeD1Ev, Locale* self) {
  lets_go_of_locale(self);
  EXISTING(_ZNSt6localeD1Ev)(self);
}
INTERPOSE_ONLY(void, _ZNSt6localeD2Ev, Locale* self) {
  lets_go_of_locale(self);
  EXISTING(_ZNSt6localeD2Ev)(self);
}
INTERPOSE_ONLY(const Locale*, _ZNSt6localeaSERKS_, Locale* self, const Locale* other) {
  lets_go_of_locale(self);
  return EXISTING(_ZNSt6localeaSERKS_)(self, other);
}
// The last one that held it lets go.
INTERPOSE_ONLY(void, _ZNSt6locale5_ImplD1Ev, LocaleImplementation* self) {
  lane::acquire(&locales);
  EXISTING(_ZNSt6locale5_ImplD1Ev)(self);
}

// --- What the library remembers of facets

namespace {

struct TypeInfo {
  void* vtable;
  const char* name;
};
struct Facet {
  const void* const* vtable;  // before the functions, what type it is
  int owners;
};

// As in <locale>, whose types these are. The arrays are the cache's own.
template <class Char>
struct Text {
  const Char* characters;
  size_t size;
  void publish() const {
    if (characters != nullptr) lane::published(characters, size * sizeof(Char));
  }
};
template <class Char>
struct NumberCache {
  Facet facet;
  Text<char> grouping;
  bool uses_grouping;
  Text<Char> names[2];
  Char marks[2];
  Char digits[36 + 26];
  bool has_arrays;
  const Text<Char>* begin() const { return names; }
  const Text<Char>* end() const { return names + 2; }
};
template <class Char>
struct MoneyCache {
  Facet facet;
  Text<char> grouping;
  bool uses_grouping;
  Char marks[2];
  Text<Char> signs[3];
  int digits_of_fraction;
  char formats[2][4];
  Char digits[11];
  bool has_arrays;
  const Text<Char>* begin() const { return signs; }
  const Text<Char>* end() const { return signs + 3; }
};
static_assert(sizeof(NumberCache<char>) == 144 && sizeof(NumberCache<wchar_t>) == 336);
static_assert(sizeof(MoneyCache<char>) == 112 && sizeof(MoneyCache<wchar_t>) == 160);

template <class Cache>
void publish(const Cache* cache) {
  lane::published(cache, sizeof *cache);
  if (!cache->has_arrays) return;
  cache->grouping.publish();
  for (const auto& text : *cache) text.publish();
}

// What follows `prefix` in `text`; null if that does not begin so.
const char* after(const char* prefix, const char* text) {
  while (*prefix != '\0' && *prefix == *text) ++prefix, ++text;
  return *prefix == '\0' ? text : nullptr;
}

template <template <class> class Cache>
void publish_as(const Facet* facet, const char* character) {
  switch (*character) {
    case 'c':
      return publish(reinterpret_cast<const Cache<char>*>(facet));
    case 'w':
      return publish(reinterpret_cast<const Cache<wchar_t>*>(facet));
    default:
      return;
  }
}

void publish(const Facet* cache) {
  auto* const type = static_cast<const TypeInfo*>(cache->vtable[-1]);
  if (type == nullptr) return;  // compiled without type information
  if (const char* const of = after("St16__numpunct_cacheI", type->name)) publish_as<NumberCache>(cache, of);
  if (const char* const of = after("St18__moneypunct_cacheI", type->name)) publish_as<MoneyCache>(cache, of);
}

}  // namespace

WEAK_REAL(void, _ZNSt6locale5_Impl16_M_install_cacheEPKNS_5facetEm, LocaleImplementation* self,
          const Facet* cache, size_t index);
INTERPOSE_ONLY(void, _ZNSt6locale5_Impl16_M_install_cacheEPKNS_5facetEm, LocaleImplementation* self,
               const Facet* cache, size_t index) {
  publish(cache);
  EXISTING(_ZNSt6locale5_Impl16_M_install_cacheEPKNS_5facetEm)(self, cache, index);
}

// --- std::ctype<char>::_M_widen_init, _M_narrow_init

WEAK_REAL(void, _ZNKSt5ctypeIcE13_M_widen_initEv, const void* self);
WEAK_REAL(void, _ZNKSt5ctypeIcE14_M_narrow_initEv, const void* self);

INTERPOSE_ONLY(void, _ZNKSt5ctypeIcE13_M_widen_initEv, const void* self) {
  begin_ignoring(true, true);
  EXISTING(_ZNKSt5ctypeIcE13_M_widen_initEv)(self);
  end_ignoring(true, true);
}
INTERPOSE_ONLY(void, _ZNKSt5ctypeIcE14_M_narrow_initEv, const void* self) {
  begin_ignoring(true, true);
  EXISTING(_ZNKSt5ctypeIcE14_M_narrow_initEv)(self);
  end_ignoring(true, true);
}
