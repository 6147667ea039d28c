// A finding's name across rebuilds: what CI compares with yesterday's list.
//
// It is made from the finding's kind and, for each access in order, the function, the base name of the file
// and the line counted from the function's first line; without debug information, from the function alone;
// without symbols, from the module's base name and the address in it. So it survives another load address,
// another checkout folder, another optimisation level, and any edit outside the racy functions. It changes
// when lines move within a racy function, or the function or file is renamed.
//
// What has no name of its own, such as a lambda, is numbered by compilers in the order in which they come to
// it, and the optimiser takes away what is never called. So the number is left out, and its lines are counted
// from the first line of the function it is written in: that tells the lambdas of one function apart.
//
// Operations are not part of it, for the reason given in report/merge.h: which of the read and the write of a
// `+=` is caught first is chance. Findings that would get the same fingerprint (two races between the same
// two functions, no debug information) are told apart by their number, in the order of their places.
#pragma once

#include <vector>

#include "report/finding.h"

namespace deadheat::triage {

// Sets `fingerprint` of every finding: 16 hexadecimal digits. REQUIRES: findings and their accesses are
// ordered.
void fingerprint(std::vector<report::Finding>& findings);

}  // namespace deadheat::triage
