// What the program asks for early, its shadow is asked for early, too.
//
// A program that prefetches knows that it is about to touch memory that is in no cache: its hooks would wait
// for the cells of that memory where the program itself no longer waits. Changes nothing but time.
#pragma once

#include <llvm/IR/Function.h>

#include "instrument/hooks.h"

namespace deadheat::instrument {

void follow_prefetches(llvm::Function& function, Hooks& hooks);

}  // namespace deadheat::instrument
