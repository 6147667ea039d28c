// From instances to findings: one finding for each kind and set of places, whatever the number of instances.
//
// A place is what a person points at: file and line, or a trace's place, or module and address when the
// binary says no more. Columns and operations are not part of it: `balance += n` reads and writes, and which
// of the two met the other thread first is chance. So the same race is the same finding on every run; among
// its instances the one shown is chosen by content, never by time or address: one with a witness first, then
// by what the detector that found it guarantees, then two writes, then by the text of the stacks.
//
// Detectors of a trace may find different events at the same places, and one may deny what the other found
// there. `detectors` is the union, which is true of the places; `shown_by` is true of the events shown.
#pragma once

#include <string>
#include <vector>

#include "report/finding.h"

namespace deadheat::report {

// Orders the accesses of one instance by place: writes first at equal places, then by stack, the thread last.
void order_accesses(Finding& instance);

// Equal for two instances of one finding. REQUIRES: accesses are ordered.
std::string identity_of(const Finding& instance);

// Merges, orders and fingerprints. Findings come out in the order of their places.
std::vector<Finding> merge(std::vector<Finding> instances);

}  // namespace deadheat::report
