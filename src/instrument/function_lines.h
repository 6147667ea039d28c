// Line tables that know the functions they are of.
//
// Fingerprints are made of the names of functions and of lines counted from where these begin
// (docs/reports.md). Debug information of lines alone, which a program has unless its user asks for more, has
// neither for functions that were inlined, nor any first lines; the front end knows them all, but the code
// generator leaves them out, unless the information is for a profiler. So a unit of such information says
// that it is, and functions get their full names. `-fdebug-info-for-profiling` does the same, but also
// changes what is inlined.
#pragma once

#include <llvm/IR/Module.h>

namespace deadheat::instrument {

// REQUIRES: nothing has been inlined yet.
void keep_function_lines(llvm::Module& module);

}  // namespace deadheat::instrument
