// Signals that the program sends itself, and faults it has handlers for.
//
// Who blocks what is kept for the whole process, not thread by thread: programs block signals before they
// make threads. A handler runs where its thread is; what interrupted code was doing, its ucontext, is not
// there to be seen.
#include <fmt/format.h>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

constexpr std::uint64_t kSetBytes = 128;
constexpr int kSignals = 65;

std::uint64_t load_set(ModelCall& call, std::size_t i) { return call.live.load_number(call.address(i), 8); }

void do_set_empty(ModelCall& call) {
  call.live.store_bytes(call.address(0), std::string(kSetBytes, '\0'));
  call.result(std::uint64_t{0});
}
void do_set_full(ModelCall& call) {
  call.live.store_bytes(call.address(0), std::string(kSetBytes, '\xff'));
  call.result(std::uint64_t{0});
}
void do_set_add(ModelCall& call) {
  call.live.store_number(call.address(0), load_set(call, 0) | History::bit_of(call.word32(1)), 8);
  call.result(std::uint64_t{0});
}
void do_set_remove(ModelCall& call) {
  call.live.store_number(call.address(0), load_set(call, 0) & ~History::bit_of(call.word32(1)), 8);
  call.result(std::uint64_t{0});
}
void do_set_contains(ModelCall& call) {
  const bool is_in = (load_set(call, 0) & History::bit_of(call.word32(1))) != 0;
  call.result(std::uint64_t{is_in ? 1u : 0u});
}

// (how, set, old)
void do_mask(ModelCall& call) {
  std::uint64_t& blocked = call.live.history().blocked_signals;
  if (call.word(2) != 0) {
    call.live.store_bytes(call.address(2), std::string(kSetBytes, '\0'));
    call.live.store_number(call.address(2), blocked, 8);
  }
  if (call.word(1) != 0) blocked = History::masked(blocked, call.word32(0), load_set(call, 1));
  call.result(std::uint64_t{0});
}

// signal(number, handler)
void do_handle(ModelCall& call) {
  SignalAction& action = call.live.history().signal_actions[static_cast<int>(call.word32(0))];
  call.result(action.handler);
  action = {call.word(1), false};
}

// sigaction(number, action, old)
void do_action(ModelCall& call) {
  History& history = call.live.history();
  SignalAction& action = history.signal_actions[static_cast<int>(call.word32(0))];
  if (call.word(2) != 0) {
    call.live.store_bytes(call.address(2), std::string(152, '\0'));
    call.live.store_number(call.address(2), action.handler, 8);
    call.live.store_number(Address(call.word(2) + History::kFlagsAt), action.has_info ? 4 : 0, 4);
  }
  if (call.word(1) != 0) history.set_action(static_cast<int>(call.word32(0)), call.address(1));
  call.result(std::uint64_t{0});
}

void do_raise(ModelCall& call) {
  call.live.send(call.self, call.self, static_cast<int>(call.word32(0)));
  call.result(std::uint64_t{0});
}

// Processes other than itself are the outside.
void do_kill(ModelCall& call) {
  if (call.word32(0) != LiveWorld::kProcess) call.live.end(OutcomeKind::kLeft, 0, "a signal to a process");
  if (call.word32(1) != 0) call.live.send(call.self, call.self, static_cast<int>(call.word32(1)));
  call.result(std::uint64_t{0});
}

void do_pthread_kill(ModelCall& call) {
  ThreadId id;
  LiveThread* const target = call.live.thread_of_handle(call.word(0), id);
  const int signal = static_cast<int>(call.word32(1));
  constexpr std::uint64_t kNoSuch = 3, kInvalid = 22;
  if (target == nullptr || target->state == LiveThread::State::kEnded) return call.result(kNoSuch);
  if (signal < 0 || signal >= kSignals) return call.result(kInvalid);
  call.live.synchronise(call.self);
  if (signal != 0) call.live.send(call.self, *target, signal);
  call.result(std::uint64_t{0});
}

// sigwait(set, number)
void do_sigwait(ModelCall& call) {
  LiveThread& self = call.self;
  const std::uint64_t wanted = load_set(call, 0);
  call.live.block(self, "a signal", [&self, wanted] { return (self.pending_signals & wanted) != 0; });
  const std::uint64_t came = self.pending_signals & wanted;
  const int signal = __builtin_ctzll(came) + 1;
  self.pending_signals &= ~History::bit_of(static_cast<std::uint32_t>(signal));
  if (call.word(1) != 0) call.live.store_number(call.address(1), static_cast<std::uint64_t>(signal), 4);
  call.result(std::uint64_t{0});
}

}  // namespace

std::span<const Model> signal_models() {
  static const Model models[] = {
      {"sigemptyset", do_set_empty},     {"sigfillset", do_set_full},
      {"sigaddset", do_set_add},         {"sigdelset", do_set_remove},
      {"sigismember", do_set_contains},  {"pthread_sigmask", do_mask},
      {"sigprocmask", do_mask},          {"signal", do_handle},
      {"bsd_signal", do_handle},         {"__sysv_signal", do_handle},
      {"sysv_signal", do_handle},        {"sigaction", do_action},
      {"raise", do_raise, do_raise},     {"kill", do_kill},
      {"pthread_kill", do_pthread_kill}, {"sigwait", do_sigwait},
  };
  return models;
}

}  // namespace deadheat::replay::live
