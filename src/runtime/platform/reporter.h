// A `deadheat report-raw` beside a program that is simply run: reads raw findings from a pipe, prints them as
// they come.
#pragma once

namespace deadheat::platform {

struct Reporter {
  int pipe = -1;  // raw findings go here
  int done = -1;  // end of file when it has printed everything; a byte before if that was nothing
};

// Starts it as a stranger: not a child the program could wait for, with none of the program's files but
// standard error. False if the tool is not found.
bool start_reporter(const char* tool, Reporter* reporter);

// Closes the pipe and waits, up to a limit, until everything was printed. False: there was nothing to print,
// because the program suppresses all that was found.
bool finish_reporter(Reporter* reporter);

}  // namespace deadheat::platform
