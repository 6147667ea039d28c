#include "replay/object_cache.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/xxhash.h>
#include <llvm/TargetParser/Host.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace deadheat::replay {

namespace {

namespace fs = std::filesystem;

std::string cache_root() {
  const char* const choice = std::getenv("DEADHEAT_CACHE");
  if (choice != nullptr && std::strcmp(choice, "off") == 0) return {};
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/')
    return std::string(cache) + "/deadheat/replay";
  const char* const home = std::getenv("HOME");
  return home == nullptr || home[0] != '/' ? std::string() : std::string(home) + "/.cache/deadheat/replay";
}

// Everything that the code depends on besides the module.
std::string name_of_tool(llvm::StringRef hooks) {
  std::string all = LLVM_VERSION_STRING;
  all += llvm::sys::getHostCPUName();
  struct stat tool{};
  if (stat("/proc/self/exe", &tool) == 0)
    all += std::to_string(tool.st_size) + "." + std::to_string(tool.st_mtim.tv_sec) + "." +
           std::to_string(tool.st_mtim.tv_nsec);
  all += hooks;
  char name[17];
  std::snprintf(name, sizeof name, "%016llx",
                static_cast<unsigned long long>(llvm::xxh3_64bits(llvm::StringRef(all))));
  return name;
}

}  // namespace

ObjectCache::ObjectCache(Variant variant, llvm::StringRef hooks) : variant_(variant) {
  const std::string root = cache_root();
  if (root.empty()) return;
  folder_ = root + "/" + name_of_tool(hooks);
  std::error_code error;
  if (fs::create_directories(folder_, error)) remove_old(root);
  // The time of the last use.
  fs::last_write_time(folder_, fs::file_time_type::clock::now(), error);
  if (error) folder_.clear();
}

void ObjectCache::remove_old(const std::string& root) const {
  std::error_code error;
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(24 * 30);
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
    std::error_code ignored;
    if (entry.last_write_time(ignored) < limit && !ignored) fs::remove_all(entry.path(), ignored);
  }
}

std::string ObjectCache::path_of(recording::ModuleId module, std::size_t function) const {
  static constexpr const char* kVariants[] = {".bare/", ".counted/", ".observed/", ".labelled/", ".live/"};
  return folder_ + "/" + recording::to_string(module) + kVariants[static_cast<std::size_t>(variant_)] +
         std::to_string(function) + ".o";
}

std::unique_ptr<llvm::MemoryBuffer> ObjectCache::find(recording::ModuleId module,
                                                      std::size_t function) const {
  if (folder_.empty()) return nullptr;
  auto file = llvm::MemoryBuffer::getFile(path_of(module, function), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() == 0) return nullptr;
  return std::move(*file);
}

void ObjectCache::put(recording::ModuleId module, std::size_t function, llvm::StringRef object) {
  if (folder_.empty() || is_read_only_) return;
  const std::string path = path_of(module, function);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string draft = path + "." + std::to_string(getpid());
  std::FILE* const file = std::fopen(draft.c_str(), "wb");
  if (file == nullptr) return;
  const bool is_written = std::fwrite(object.data(), 1, object.size(), file) == object.size();
  const bool is_closed = std::fclose(file) == 0;
  if (!is_written || !is_closed || std::rename(draft.c_str(), path.c_str()) != 0) std::remove(draft.c_str());
}

}  // namespace deadheat::replay
