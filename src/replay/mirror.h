// The mirrored pass: a function of the recorded program, made to read the log instead of the world.
//
// The counterpart of src/instrument/record/function_recorder.h: at every point of the plan where recording
// logged something, the mirrored function asks for it. Loads ask the predictor or the log; stores feed the
// predictor; addresses of locals and results of invisible calls come from the log; addresses of globals from
// a table. No memory of the recorded program is ever touched; what stays is arithmetic, control flow and
// private locals, compiled by the same compiler from the same IR.
//
// Exceptions become returns. A mirrored function never unwinds: when the log says that an exception landed at
// the invoke of depth d, the thread is marked as unwinding, every call returns at once to its caller, which
// tests the mark and either returns as well or goes to its landing pad, if its invoke is that of depth d.
//
// Functions are mirrored one by one, when first needed: each becomes a module of its own, with an adapter
// that calls it with the argument words of a call-back. Symbols that the module leaves open: the hooks
// (abi.h), and
//
//   dh_instance   DhInstance of the module's instance
//   dh_code       mirrored code of the instance's functions by index, null where not compiled yet
//   dh_globals    recorded addresses of the instance's globals by index
#pragma once

#include <memory>
#include <string>

#include "replay/module_code.h"
#include "replay/variant.h"

namespace deadheat::replay {

inline constexpr char kInstanceSymbol[] = "dh_instance";
inline constexpr char kCodeSymbol[] = "dh_code";
inline constexpr char kGlobalsSymbol[] = "dh_globals";

std::string code_symbol(std::size_t function);
std::string adapter_symbol(std::size_t function);  // void(const uint64_t* words)

// `index`: of the function in the plan; `module` gets it. Hooks are calls still (inline them afterwards).
Status mirror(const ModuleCode& code, std::size_t index, Variant variant, Predictor predictor,
              llvm::Module& module);

// When hooks are inlined: the function's copies of the thread's counters (abi.h) become registers.
void promote_copies(llvm::Module& module, std::size_t index);

}  // namespace deadheat::replay
