#include "recording/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "recording/description.h"
#include "recording/format.h"
#include "trace/file.h"

namespace deadheat::recording {
namespace {

namespace fs = std::filesystem;

// Two: end.json is written when recording stops, and again when the program ends.
constexpr const char* kReserveFiles[] = {"end.json.reserve", "end.json.reserve2"};
constexpr std::size_t kReserveBytes = 4096;  // more than an end.json ever has

bool is_part_of_recording(const std::string& name) {
  for (const char* part :
       {kDescriptionFile, kLogFile, kEndFile, kModulesFolder, kReserveFiles[0], kReserveFiles[1]}) {
    if (name == part) return true;
  }
  return name.starts_with(std::string(kDescriptionFile) + ".part");
}

Status write_whole(int descriptor, const std::string& path, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        ::pwrite(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Error{path + ": cannot be written: " + std::strerror(errno)};
    done += static_cast<std::size_t>(count);
  }
  return Nothing{};
}

}  // namespace

std::string utc_now() {
  const time_t now = time(nullptr);
  struct tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Status remove_recording(const std::string& folder) {
  std::error_code error;
  for (const char* name :
       {kEndFile, kReserveFiles[0], kReserveFiles[1], kLogFile, kModulesFolder, kDescriptionFile}) {
    fs::remove_all(fs::path(folder) / name, error);
    if (error) return Error{fmt::format("{}/{}: cannot be removed: {}", folder, name, error.message())};
  }
  return Nothing{};
}

Status create_folder(const std::string& folder, const Description& description,
                     const FolderOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status))
      return Error{folder + ": expected a folder for the recording, found a file"};
    bool is_empty = true;
    fs::directory_iterator entries(folder, error);
    if (error) return Error{fmt::format("{}: cannot be read: {}", folder, error.message())};
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (!is_part_of_recording(name)) {
        return Error{fmt::format("{}: expected an empty folder or none, found {} in it", folder, name)};
      }
      is_empty &= name == kModulesFolder && options.may_have_modules;
    }
    if (!is_empty && !options.replace) {
      return Error{fmt::format("{}: there is a recording already{}", folder,
                               options.may_have_modules ? "" : "; --force replaces it")};
    }
    if (!is_empty) {
      if (Status removed = remove_recording(folder); !removed) return removed;
    }
  } else {
    fs::create_directories(folder, error);
    if (error) return Error{fmt::format("{}: cannot be created: {}", folder, error.message())};
  }
  fs::create_directory(fs::path(folder) / kModulesFolder, error);
  if (error)
    return Error{fmt::format("{}/{}: cannot be created: {}", folder, kModulesFolder, error.message())};
  return write_description(folder, description);
}

Status write_description(const std::string& folder, const Description& description) {
  auto file = OutputFile::create(folder + "/" + kDescriptionFile);
  if (!file) return file.error();
  if (Status status = file->write(to_json(description)); !status) return status;
  return file->close();
}

Status reserve_end(const std::string& folder) {
  for (const char* name : kReserveFiles) {
    const std::string path = folder + "/" + name;
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return Error{path + ": cannot be created: " + std::strerror(errno)};
    Status status = write_whole(descriptor, path, std::string(kReserveBytes, ' '));
    ::close(descriptor);
    if (!status) return status;
  }
  return Nothing{};
}

Status write_end(const std::string& folder, const Ending& ending) {
  const std::string path = folder + "/" + kEndFile, text = to_json(ending);
  // Without O_TRUNC: the blocks that are there are what it was made for.
  std::string reserve = folder + "/" + kReserveFiles[0];
  if (::access(reserve.c_str(), F_OK) != 0) reserve = folder + "/" + kReserveFiles[1];
  const int descriptor = ::open(reserve.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return Error{path + ": cannot be created: " + std::strerror(errno)};
  Status status = write_whole(descriptor, path, text);
  if (status.ok() && ::ftruncate(descriptor, static_cast<off_t>(text.size())) != 0) {
    status = Error{path + ": cannot be written: " + std::strerror(errno)};
  }
  ::close(descriptor);
  if (status.ok() && ::rename(reserve.c_str(), path.c_str()) != 0) {
    status = Error{path + ": cannot be created: " + std::strerror(errno)};
  }
  if (!status.ok()) ::unlink(reserve.c_str());
  return status;
}

void drop_reserve(const std::string& folder) {
  for (const char* name : kReserveFiles) ::unlink((folder + "/" + name).c_str());
}

}  // namespace deadheat::recording
