// The sentences of a report, shared by the renderings that people read.
#pragma once

#include <string>

#include "report/finding.h"

namespace deadheat::report {

// "write of 4 bytes", "free", "atomic read of 8 bytes".
std::string operation_text(const Access& access);

// "thread 2", "thread 2 'worker'", "the main thread".
std::string thread_text(const Finding& finding, std::uint32_t thread);

// "global balance", "40-byte heap block", "stack variable local of f(int)", with the racy offset where it is
// not 0.
std::string variable_text(const Variable& variable);

// "data race on balance (global, 4 bytes, bank.cpp:5)".
std::string headline_text(const Finding& finding);

// "value changed: 3 -> 4", "value read: 7" or nothing.
std::string value_text(const Access& access);

// Why nothing orders the accesses: the detector's own words, or what the locks say.
std::string why_text(const Finding& finding);

// A witness that is a part of the trace: "in the order of the trace, the first 12 events of T0 and ...".
std::string prefix_text(const Finding& finding);

// How sure the finding is, by what its detectors guarantee and by its verdict.
std::string sure_text(const Finding& finding);

// "3 findings, 2 harmful, 1 unclassified; 1 suppressed".
std::string summary_text(const Report& report);

// The word as a POSIX shell takes it.
std::string shell_quoted(const std::string& word);

}  // namespace deadheat::report
