// The C++ runtime: guards of local statics, exceptions, call_once.
#include <fmt/format.h>

#include "replay/live/cxx_types.h"
#include "replay/live/models.h"
#include "replay/program.h"

namespace deadheat::replay::live {

namespace {

// --- Guards: the first byte says that it is done; who is at it is ours to know.

void do_guard_acquire(ModelCall& call) {
  LiveWorld& live = call.live;
  const std::uint64_t guard = call.word(0);
  live.synchronise(call.self);
  const auto is_done = [&live, guard] {
    return (live.memory().image().read(Address(guard), 1).value_or(0) & 1) != 0;
  };
  live.block(call.self,
             fmt::format("the initialisation of a local static ({})", live.describe(Address(guard))),
             [&live, guard, is_done] { return is_done() || live.history().locks[guard].depth == 0; });
  if (is_done()) return call.result(std::uint64_t{0});
  Lock& lock = live.history().locks[guard];
  lock.owner = call.self.thread->id();
  lock.depth = 1;
  call.result(std::uint64_t{1});
}
void do_guard_release(ModelCall& call) {
  call.live.synchronise(call.self);
  call.live.store_number(call.address(0), 1, 1);
  call.live.history().locks[call.word(0)].depth = 0;
}
void do_guard_abort(ModelCall& call) { call.live.history().locks[call.word(0)].depth = 0; }

// --- Exceptions. What the library keeps in front of the object is not the program's to see.

void do_allocate_exception(ModelCall& call) {
  call.result(call.live.memory().allocate(call.word(0)).value());
}
void do_free_exception(ModelCall& call) { call.live.memory().freed(call.address(0), call.open.site); }

void do_throw(ModelCall& call) {
  Exception exception;
  exception.object = call.word(0);
  exception.type = call.word(1);
  exception.destructor = call.word(2);
  call.live.throw_exception(call.self, exception);
}

void do_begin_catch(ModelCall& call) {
  LiveThread& self = call.self;
  if (!self.flying) call.live.end(OutcomeKind::kLeft, 0, "a handler of an exception that was thrown before");
  auto caught = std::make_shared<Exception>(*self.flying);
  // Thrown again from its own handler.
  for (const auto& other : self.caught)
    if (other->object == caught->object) caught = other;
  ++caught->handlers;
  self.caught.push_back(caught);
  self.flying.reset();
  call.result(caught->adjusted);
}

void do_get_exception_ptr(ModelCall& call) {
  if (!call.self.flying)
    call.live.end(OutcomeKind::kLeft, 0, "a handler of an exception that was thrown before");
  call.result(call.self.flying->adjusted);
}

void do_end_catch(ModelCall& call) {
  LiveThread& self = call.self;
  if (self.caught.empty()) return;
  const std::shared_ptr<Exception> caught = self.caught.back();
  self.caught.pop_back();
  if (--caught->handlers != 0) return;
  if (self.flying && self.flying->object == caught->object) return;  // it goes on
  // A destructor that is not the program's own only frees what nobody sees.
  if (caught->destructor != 0 &&
      call.live.world().program().function_at(Address(caught->destructor)) != nullptr)
    call.live.call_function(self, caught->destructor, {caught->object});
}

void do_rethrow(ModelCall& call) {
  if (call.self.caught.empty())
    call.live.end(OutcomeKind::kSignal, 6, "throw; without an exception: std::terminate");
  call.live.throw_exception(call.self, Exception(*call.self.caught.back()));
}

void do_uncaught(ModelCall& call) { call.result(std::uint64_t{call.self.flying ? 1u : 0u}); }

void do_pure_virtual(ModelCall& call) {
  call.live.end(OutcomeKind::kSignal, 6, "pure virtual method called");
}

// Constructors of the standard's exceptions: an object and a text that only the library looks at.
void do_nothing(ModelCall&) {}

}  // namespace

std::span<const Model> cxx_models() {
  static const Model models[] = {
      {"__cxa_guard_acquire", do_guard_acquire},   {"__cxa_guard_release", do_guard_release},
      {"__cxa_guard_abort", do_guard_abort},       {"__cxa_allocate_exception", do_allocate_exception, again},
      {"__cxa_free_exception", do_free_exception}, {"__cxa_throw", do_throw},
      {"__cxa_begin_catch", do_begin_catch},       {"__cxa_get_exception_ptr", do_get_exception_ptr},
      {"__cxa_end_catch", do_end_catch},           {"__cxa_rethrow", do_rethrow},
      {"_ZSt18uncaught_exceptionv", do_uncaught},  {"_ZSt19uncaught_exceptionsv", do_uncaught},
      {"__cxa_pure_virtual", do_pure_virtual},     {"_ZNSt13runtime_errorC1EPKc", do_nothing},
      {"_ZNSt13runtime_errorC2EPKc", do_nothing},  {"_ZNSt11logic_errorC1EPKc", do_nothing},
      {"_ZNSt11logic_errorC2EPKc", do_nothing},    {"_ZNSt16invalid_argumentC1EPKc", do_nothing},
      {"_ZNSt12out_of_rangeC1EPKc", do_nothing},   {"_ZNSt13runtime_errorD1Ev", do_nothing},
      {"_ZNSt13runtime_errorD2Ev", do_nothing},    {"_ZNSt11logic_errorD1Ev", do_nothing},
      {"_ZNSt11logic_errorD2Ev", do_nothing},      {"_ZNSt8ios_base4InitC1Ev", do_nothing},
      {"_ZNSt8ios_base4InitD1Ev", do_nothing},
  };
  return models;
}

}  // namespace deadheat::replay::live
