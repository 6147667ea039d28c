// The folder of a recording while it is being made.
#pragma once

#include <string>

#include "base/result.h"
#include "recording/reader.h"

namespace deadheat::recording {

struct FolderOptions {
  bool replace = false;           // a recording that is there already; never anything else
  bool may_have_modules = false;  // the program has begun to write its modules before the writer came
};

// Makes the folder if there is none, recording.json and the folder for modules. An error, and nothing
// changed, if there is anything in it that a recording would overwrite or hide.
Status create_folder(const std::string& folder, const Description& description, const FolderOptions& options);

// Everything that create_folder and a recording put there; the folder stays.
Status remove_recording(const std::string& folder);

Status write_description(const std::string& folder, const Description& description);

// Sets room for end.json aside, so that a full disk does not take it.
Status reserve_end(const std::string& folder);
// Uses that room, which is enough for two calls, or makes new room. end.json is there as a whole or not at
// all.
Status write_end(const std::string& folder, const Ending& ending);
// When nothing is to come any more.
void drop_reserve(const std::string& folder);

// Now, as recording.json has it.
std::string utc_now();

}  // namespace deadheat::recording
