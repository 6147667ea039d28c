// What library functions do in a live world, as far as a program can tell.
//
// One table, in parts by what they are about. A function that is in no part ends the world ("left the known
// world: call of NAME"). A model takes its arguments as words (floating-point ones as their bits), works on
// the world's memory only, and leaves its result in the call.
#pragma once

#include <span>
#include <string_view>

#include "replay/live/live_world.h"

namespace deadheat::replay::live {

struct Model {
  const char* name;
  void (*run)(ModelCall& call);
  // When the recording stopped inside the call, after some of its synchronisations: what is left of it. Null:
  // it has no half. kAgain: the whole once more is right.
  void (*rest)(ModelCall& call) = nullptr;
};

// A model's `rest` that does all of it.
void again(ModelCall& call);

// A call that reads from outside.
void run_input(ModelCall& call, const InputFunction& function);

// Null if there is none.
const Model* model_of(std::string_view name);

std::span<const Model> allocation_models();
std::span<const Model> memory_models();
std::span<const Model> string_models();
std::span<const Model> output_models();
std::span<const Model> thread_models();
std::span<const Model> process_models();
std::span<const Model> cxx_models();
std::span<const Model> cxx_container_models();
std::span<const Model> cxx_string_models();
std::span<const Model> file_models();
std::span<const Model> number_models();
std::span<const Model> signal_models();
std::span<const Model> sort_models();
std::span<const Model> specific_models();

// What a thread does when it ends: destructors of its thread-local variables and of pthread keys' values.
void run_thread_exit(LiveWorld& live, LiveThread& thread);

}  // namespace deadheat::replay::live
