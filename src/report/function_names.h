// Names of functions as people read them. Demangled C++ names say everything, the defaults of every template
// included; a report for people leaves out what nobody wrote.
#pragma once

#include <string>

namespace deadheat::report {

// Default template arguments and the standard library's inner namespaces left out:
// `std::vector<int>::push_back(int&&)`.
std::string short_function(const std::string& function);

// Only the qualified name: no return type, no parameters: `std::vector<int>::push_back`. For code that is not
// the user's.
std::string brief_function(const std::string& function);

}  // namespace deadheat::report
