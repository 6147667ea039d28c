#include "replay/hook_bitcode.h"

extern "C" const char deadheat_replay_hooks_bare[];
extern "C" const char deadheat_replay_hooks_bare_end[];
extern "C" const char deadheat_replay_hooks_observed[];
extern "C" const char deadheat_replay_hooks_observed_end[];
extern "C" const char deadheat_replay_hooks_live[];
extern "C" const char deadheat_replay_hooks_live_end[];

namespace deadheat::replay {

llvm::StringRef hook_bitcode(Variant variant) {
  const auto between = [](const char* begin, const char* end) {
    return llvm::StringRef(begin, static_cast<size_t>(end - begin));
  };
  switch (variant) {
    case Variant::kBare:
    case Variant::kCounted:
      return between(deadheat_replay_hooks_bare, deadheat_replay_hooks_bare_end);
    case Variant::kObserved:
    case Variant::kLabelled:
      return between(deadheat_replay_hooks_observed, deadheat_replay_hooks_observed_end);
    case Variant::kLive:
      break;
  }
  return between(deadheat_replay_hooks_live, deadheat_replay_hooks_live_end);
}

}  // namespace deadheat::replay
