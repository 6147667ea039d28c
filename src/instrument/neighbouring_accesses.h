// Accesses of one block to neighbouring bytes become one check.
//
// Fields that lie in the same eight bytes are one cell of shadow, so `p->x + p->y` costs one check instead of
// two. They are joined if their bytes together are exactly one naturally aligned 2, 4 or 8 bytes, they are of
// one kind, nothing in between acquires, releases or may not continue, and they stand on one source line: a
// report that names a line which does not touch the variable would be wrong.
//
// Two words of eight bytes that lie next to each other are one call, under the same conditions, if they stand
// at one column, too: an object of two words is copied like that. They stay two accesses, of a value each,
// and a report of either says what it would say if they were checked one by one.
//
// Exact: nothing orders or prevents anything between the joined check and the accesses, so each of them races
// with exactly what the check races with, byte by byte.
//
// Tested by neighbouring_accesses_test.cc.
#pragma once

#include "instrument/function_view.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

// Joined reads stay as one larger read at the first of them, joined writes as one larger write at the last,
// where all the values are known. Two words are checked at the first of them, so that a report finds the
// memory of both as it was before; writes only if both values are known there. May insert address
// computations.
void join_neighbouring_accesses(const FunctionView& view, Statistics& statistics);

}  // namespace deadheat::instrument
