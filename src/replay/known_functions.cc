#include "replay/known_functions.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace deadheat::replay {

namespace {

// Made by cmake/system_functions.cmake: libc and libm.
constexpr std::string_view kSystemFunctions[] = {
#include "system_functions.inc"
};

// The C++ library and its ABI, OpenMP, and annotations, Deadheat's and ThreadSanitizer's.
constexpr std::string_view kPrefixes[] = {
    "_ZNSt",         "_ZNKSt",         "_ZSt",           "_ZNSi",       "_ZNSo",   "_ZNSs", "_ZNKSs",
    "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx", "_Znw",           "_Zna",        "_Zdl",    "_Zda",  "__cxa_",
    "__gxx_",        "_Unwind_",       "__dynamic_cast", "_ZThn",       "__kmpc_", "omp_",  "kmp_",
    "__tsan_",       "Annotate",       "__dh_",          "__deadheat_",
};

}  // namespace

bool is_known_function(std::string_view name) {
  if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                  [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return true;
  return std::binary_search(std::begin(kSystemFunctions), std::end(kSystemFunctions), name);
}

}  // namespace deadheat::replay
