#include "recording/whole_file.h"

#include "trace/file.h"

namespace deadheat::recording {

Result<std::string> read_whole_file(const std::string& path, std::uint64_t most) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  if (file->size() > most) {
    return Error{path + ": expected at most " + std::to_string(most) + " bytes, found " +
                 std::to_string(file->size())};
  }
  std::string bytes(file->size(), '\0');
  Result<std::size_t> got = file->read(bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

}  // namespace deadheat::recording
