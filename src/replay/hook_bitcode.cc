#include "replay/hook_bitcode.h"

extern "C" const char deadheat_replay_hooks_bare[];
extern "C" const char deadheat_replay_hooks_bare_end[];
extern "C" const char deadheat_replay_hooks_observed[];
extern "C" const char deadheat_replay_hooks_observed_end[];
extern "C" const char deadheat_replay_hooks_bare_tagged[];
extern "C" const char deadheat_replay_hooks_bare_tagged_end[];
extern "C" const char deadheat_replay_hooks_observed_tagged[];
extern "C" const char deadheat_replay_hooks_observed_tagged_end[];
extern "C" const char deadheat_replay_hooks_live[];
extern "C" const char deadheat_replay_hooks_live_end[];

namespace deadheat::replay {

llvm::StringRef hook_bitcode(Variant variant, Predictor predictor) {
  const auto between = [](const char* begin, const char* end) {
    return llvm::StringRef(begin, static_cast<size_t>(end - begin));
  };
  const bool is_tagged = predictor == Predictor::kTagged;
  switch (variant) {
    case Variant::kBare:
    case Variant::kCounted:
      return is_tagged ? between(deadheat_replay_hooks_bare_tagged, deadheat_replay_hooks_bare_tagged_end)
                       : between(deadheat_replay_hooks_bare, deadheat_replay_hooks_bare_end);
    case Variant::kObserved:
    case Variant::kLabelled:
      return is_tagged
                 ? between(deadheat_replay_hooks_observed_tagged, deadheat_replay_hooks_observed_tagged_end)
                 : between(deadheat_replay_hooks_observed, deadheat_replay_hooks_observed_end);
    case Variant::kLive:
      break;
  }
  return between(deadheat_replay_hooks_live, deadheat_replay_hooks_live_end);
}

}  // namespace deadheat::replay
