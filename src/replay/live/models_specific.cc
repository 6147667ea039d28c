// Thread-specific data: pthread keys, destructors of thread-local variables, std::call_once's hand-over.
#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

// (key, destructor)
void do_key_create(ModelCall& call) {
  Specifics& specifics = call.live.history().specifics;
  const std::uint32_t key = specifics.next_key++;
  specifics.destructors[key] = call.word(1);
  call.live.store_number(call.address(0), key, 4);
  call.result(std::uint64_t{0});
}
void do_key_delete(ModelCall& call) {
  Specifics& specifics = call.live.history().specifics;
  specifics.destructors[call.word32(0)] = 0;
  std::erase_if(specifics.values, [&](const auto& entry) { return entry.first.second == call.word32(0); });
  call.result(std::uint64_t{0});
}
void do_set(ModelCall& call) {
  call.live.history().specifics.values[{call.self.thread->id(), call.word32(0)}] = call.word(1);
  call.result(std::uint64_t{0});
}
void do_get(ModelCall& call) {
  const auto& values = call.live.history().specifics.values;
  const auto found = values.find({call.self.thread->id(), call.word32(0)});
  call.result(found == values.end() ? std::uint64_t{0} : found->second);
}

// __cxa_thread_atexit(destructor, object, library)
void do_thread_atexit(ModelCall& call) {
  call.live.history().thread_exit_handlers[call.self.thread->id()].push_back(
      {call.word(0), call.word(1), true});
  call.result(std::uint64_t{0});
}

// What std::call_once gives to pthread_once: it calls what the caller left in a thread-local pointer.
void do_once_proxy(ModelCall& call) {
  const auto where = call.live.history().thread_local_at(call.self.thread->id(), "_ZSt11__once_call");
  if (!where) call.live.end(OutcomeKind::kLeft, 0, "std::call_once of a function that is not known");
  call.live.call_function(call.self, call.live.load_number(Address(*where), 8), {});
}

}  // namespace

std::span<const Model> specific_models() {
  static const Model models[] = {
      {"pthread_key_create", do_key_create},     {"pthread_key_delete", do_key_delete},
      {"pthread_setspecific", do_set},           {"pthread_getspecific", do_get},
      {"__cxa_thread_atexit", do_thread_atexit}, {"__cxa_thread_atexit_impl", do_thread_atexit},
      {"__once_proxy", do_once_proxy},
  };
  return models;
}

void run_thread_exit(LiveWorld& live, LiveThread& thread) {
  const ThreadId id = thread.thread->id();
  auto& handlers = live.history().thread_exit_handlers[id];
  while (!handlers.empty()) {
    const ExitHandler handler = handlers.back();
    handlers.pop_back();
    live.call_function(thread, handler.function, {handler.argument});
  }
  // A destructor may set values anew; POSIX lets that happen four times.
  Specifics& specifics = live.history().specifics;
  for (int round = 0; round < 4; ++round) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
    for (auto& [key, value] : specifics.values)
      if (key.first == id && value != 0)
        if (const std::uint64_t destructor = live.history().destructor_of(key.second); destructor != 0)
          calls.emplace_back(destructor, std::exchange(value, 0));
    if (calls.empty()) return;
    for (const auto& [destructor, value] : calls) live.call_function(thread, destructor, {value});
  }
}

}  // namespace deadheat::replay::live
