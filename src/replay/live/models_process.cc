// The end of the process, time, the environment.
#include <fmt/format.h>

#include "replay/live/models.h"

namespace deadheat::replay::live {

namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

void do_exit(ModelCall& call) { call.live.exit_process(call.self, static_cast<int>(call.word(0)), true); }
void do_quick_exit(ModelCall& call) {
  call.live.exit_process(call.self, static_cast<int>(call.word(0)), false);
}
void do_abort(ModelCall& call) { call.live.die_of(6, 0, fmt::format("call of {}", call.name)); }
void do_terminate(ModelCall& call) { call.live.end(OutcomeKind::kSignal, 6, "std::terminate"); }

// (assertion, file, line, function)
void do_assert(ModelCall& call) {
  const std::string text = call.live.load_text(call.address(0));
  call.live.write_output(fmt::format("Assertion `{}' failed.\n", text));
  call.live.end(OutcomeKind::kSignal, 6, fmt::format("assertion `{}' failed", text));
}
// libstdc++'s: (file, line, function, condition)
void do_glibcxx_assert(ModelCall& call) {
  call.live.end(OutcomeKind::kSignal, 6,
                fmt::format("assertion `{}' failed", call.live.load_text(call.address(3))));
}
void do_stack_check(ModelCall& call) { call.live.end(OutcomeKind::kSignal, 6, "the stack was overwritten"); }

void do_cxa_atexit(ModelCall& call) {
  call.live.history().exit_handlers.push_back({call.word(0), call.word(1), true});
  call.result(std::uint64_t{0});
}
void do_atexit(ModelCall& call) {
  call.live.history().exit_handlers.push_back({call.word(0), 0, false});
  call.result(std::uint64_t{0});
}

void do_errno(ModelCall& call) {
  if (call.self.errno_at == 0) {
    call.self.errno_at = call.live.memory().allocate_static(8).value();
    call.live.memory().image().write(Address(call.self.errno_at), 0, 8);
  }
  call.result(call.self.errno_at);
}

void do_time(ModelCall& call) {
  const std::uint64_t seconds = call.live.now() / kNanoseconds;
  if (call.word(0) != 0) call.live.store_number(call.address(0), seconds, 8);
  call.result(seconds);
}
void put_time(ModelCall& call, Address to, std::uint64_t unit) {
  call.live.store_number(to, call.live.now() / kNanoseconds, 8);
  call.live.store_number(Address(to.value() + 8), call.live.now() % kNanoseconds / unit, 8);
  call.result(std::uint64_t{0});
}
void do_clock_gettime(ModelCall& call) { put_time(call, call.address(1), 1); }
void do_gettimeofday(ModelCall& call) { put_time(call, call.address(0), 1000); }
void do_clock(ModelCall& call) { call.result(call.live.now() / 1000 % kNanoseconds); }
void do_chrono_now(ModelCall& call) { call.result(call.live.now()); }

void do_getpid(ModelCall& call) { call.result(std::uint64_t{LiveWorld::kProcess}); }
void do_gettid(ModelCall& call) {
  call.result(std::uint64_t{LiveWorld::kProcess} + call.self.thread->id().value());
}
void do_getenv(ModelCall& call) { call.result(std::uint64_t{0}); }
void do_processors(ModelCall& call) { call.result(std::uint64_t{2}); }
void do_nothing(ModelCall& call) { call.result(std::uint64_t{0}); }

void do_longjmp(ModelCall& call) {
  const std::uint64_t environment = call.word(0);
  Thread& thread = *call.self.thread;
  if (!thread.has_jump_buffer(environment))
    call.live.end(OutcomeKind::kLeft, 0, "longjmp to where no setjmp was");
  call.self.is_in_fault = false;
  call.self.jump_value = call.word32(1) == 0 ? 1 : call.word32(1);
  thread.jump(environment);
}

}  // namespace

std::span<const Model> process_models() {
  static const Model models[] = {
      {"exit", do_exit},
      {"_exit", do_quick_exit},
      {"_Exit", do_quick_exit},
      {"quick_exit", do_quick_exit},
      {"abort", do_abort},
      {"_ZSt9terminatev", do_terminate},
      {"__assert_fail", do_assert},
      {"_ZSt21__glibcxx_assert_failPKciS0_S0_", do_glibcxx_assert},
      {"__stack_chk_fail", do_stack_check},
      {"__cxa_atexit", do_cxa_atexit},
      {"atexit", do_atexit},
      {"__errno_location", do_errno},
      {"time", do_time},
      {"clock_gettime", do_clock_gettime},
      {"gettimeofday", do_gettimeofday},
      {"clock", do_clock},
      {"_ZNSt6chrono3_V212system_clock3nowEv", do_chrono_now},
      {"_ZNSt6chrono3_V212steady_clock3nowEv", do_chrono_now},
      {"getpid", do_getpid},
      {"gettid", do_gettid},
      {"getenv", do_getenv},
      {"secure_getenv", do_getenv},
      {"get_nprocs", do_processors},
      {"_ZNSt6thread20hardware_concurrencyEv", do_processors},
      {"setlocale", do_nothing},
      {"longjmp", do_longjmp},
      {"_longjmp", do_longjmp},
      {"siglongjmp", do_longjmp},
  };
  return models;
}

}  // namespace deadheat::replay::live
