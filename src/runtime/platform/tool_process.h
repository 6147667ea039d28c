// Starting the deadheat program beside the user's.
#pragma once

namespace deadheat::platform {

// Where the tool is: `chosen` if given, or where it was built or installed. Null if nowhere.
const char* find_tool(const char* chosen);

// Runs `path` with `arguments` (its name first, a null last) as a stranger: not a child that the program
// could wait for, in a session of its own, with none of the program's files but `descriptors`, which become
// 0, 1, 2, ... in order. False if it could not be started; this says nothing about what it does then.
// REQUIRES: count <= kMostToolDescriptors
inline constexpr unsigned kMostToolDescriptors = 4;
bool start_tool(const char* path, const char* const* arguments, const int* descriptors, unsigned count);

}  // namespace deadheat::platform
