#include "replay/hook_bitcode.h"

extern "C" const char deadheat_replay_hooks_bare[];
extern "C" const char deadheat_replay_hooks_bare_end[];
extern "C" const char deadheat_replay_hooks_observed[];
extern "C" const char deadheat_replay_hooks_observed_end[];

namespace deadheat::replay {

llvm::StringRef hook_bitcode(Variant variant) {
  const char* const begin =
      variant == Variant::kBare ? deadheat_replay_hooks_bare : deadheat_replay_hooks_observed;
  const char* const end =
      variant == Variant::kBare ? deadheat_replay_hooks_bare_end : deadheat_replay_hooks_observed_end;
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace deadheat::replay
