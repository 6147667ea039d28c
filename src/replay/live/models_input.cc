// What comes from outside: as the recording has it (input.h), or the world ends.
#include <fmt/format.h>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

// Known bytes are stored, the others are nobody's guess.
void fill(ModelCall& call, Address to, const InputCall& given) {
  call.live.check(to, given.bytes.size(), /*is_write=*/true);
  for (std::size_t at = 0; at < given.bytes.size();) {
    const char is_known = given.is_known[at];
    std::size_t end = at;
    while (end < given.bytes.size() && given.is_known[end] == is_known) ++end;
    const Address where(to.value() + at);
    if (is_known != 0)
      call.live.store_bytes(where, std::string_view(given.bytes).substr(at, end - at));
    else
      call.live.memory().image().forget(where, end - at);
    at = end;
  }
}

}  // namespace

void run_input(ModelCall& call, const InputFunction& function) {
  const std::string path =
      function.is_path ? path_at(call.live.memory().image(), call.address(function.what)) : std::string();
  const std::string key = function.key(call.open.words, call.open.count, path);
  const InputCall* const given = call.live.history().input.next(function, key);
  if (given == nullptr)
    call.live.end(OutcomeKind::kLeft, 0,
                  function.is_path ? fmt::format("{}{} of {}", kInputIsUnknown, call.name, path)
                                   : fmt::format("{}call of {}", kInputIsUnknown, call.name));
  const std::uint64_t asked = function.asked(call.open.words, call.open.count);
  if (given->asked != asked)
    call.live.end(OutcomeKind::kLeft, 0,
                  fmt::format("{}{} asks for {} bytes, where the recorded run asked for {}", kInputIsUnknown,
                              call.name, asked, given->asked));
  if (!given->bytes.empty()) fill(call, call.address(function.buffer), *given);
  call.result(given->result);
}

}  // namespace deadheat::replay::live
