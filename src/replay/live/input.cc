#include "replay/live/input.h"

#include <algorithm>
#include <cstring>

#include "replay/thread.h"

namespace deadheat::replay::live {

namespace {

using Length = InputFunction::Length;

constexpr std::uint64_t kStatusBytes = 144;  // struct stat of x86-64

constexpr InputFunction kFunctions[] = {
    {"read", false, 0, Length::kResult, 1, 2},
    {"recv", false, 0, Length::kResult, 1, 2},
    {"pread", false, 0, Length::kResult, 1, 2, 3},
    {"pread64", false, 0, Length::kResult, 1, 2, 3},
    {"fread", false, 3, Length::kItems, 0, 2},
    {"fread_unlocked", false, 3, Length::kItems, 0, 2},
    {"fgets", false, 2, Length::kText, 0, 1},
    {"getc", false, 0},
    {"fgetc", false, 0},
    {"_IO_getc", false, 0},
    {"getchar", false, 0},
    {"feof", false, 0},
    {"ftell", false, 0},
    {"ftello", false, 0},
    {"ftello64", false, 0},
    {"fseek", false, 0},
    {"fseeko", false, 0},
    {"fseeko64", false, 0},
    {"rewind", false, 0},
    {"lseek", false, 0},
    {"lseek64", false, 0},
    {"posix_fadvise", false, 0},
    {"fcntl", false, 0},
    {"flock", false, 0},
    {"ftruncate", false, 0},
    {"fdopen", false, 0},
    {"fstat", false, 0, Length::kStatus, 1},
    {"fstat64", false, 0, Length::kStatus, 1},
    {"stat", true, 0, Length::kStatus, 1},
    {"stat64", true, 0, Length::kStatus, 1},
    {"lstat", true, 0, Length::kStatus, 1},
    {"lstat64", true, 0, Length::kStatus, 1},
    {"open", true, 0},
    {"open64", true, 0},
    {"fopen", true, 0},
    {"fopen64", true, 0},
    {"access", true, 0},
    {"unlink", true, 0},
    {"remove", true, 0},
    {"rename", true, 0},
    {"mkdir", true, 0},
    {"rmdir", true, 0},
};

std::uint64_t word(const std::uint64_t* words, std::size_t count, std::size_t i) {
  return i < count ? words[i] : 0;
}

void put(std::string& to, std::uint64_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& to, const std::string& bytes) {
  put(to, bytes.size());
  to += bytes;
}

bool get(std::string_view& from, std::uint64_t& number) {
  if (from.size() < sizeof number) return false;
  std::memcpy(&number, from.data(), sizeof number);
  from.remove_prefix(sizeof number);
  return true;
}
bool get(std::string_view& from, std::string& bytes) {
  std::uint64_t size = 0;
  if (!get(from, size) || from.size() < size) return false;
  bytes = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace

const InputFunction* input_function(std::string_view name) {
  static const std::unordered_map<std::string_view, const InputFunction*> table = [] {
    std::unordered_map<std::string_view, const InputFunction*> all;
    for (const InputFunction& function : kFunctions) all.emplace(function.name, &function);
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

std::string path_at(const MemoryImage& image, Address address) {
  constexpr std::size_t kLongest = 4096;
  std::string path;
  for (std::uint64_t at = address.value(); path.size() < kLongest; ++at) {
    const auto byte = image.read(Address(at), 1);
    if (!byte) break;
    if (*byte == 0) return path;
    path += static_cast<char>(*byte);
  }
  return "the path at " + std::to_string(address.value());
}

std::uint64_t InputFunction::asked(const std::uint64_t* words, std::size_t count) const {
  switch (length) {
    case Length::kNothing:
      return 0;
    case Length::kResult:
    case Length::kText:
      return word(words, count, size);
    case Length::kItems:
      return word(words, count, size) * word(words, count, size - 1);
    case Length::kStatus:
      return kStatusBytes;
  }
  return 0;
}

std::uint64_t InputFunction::given(const std::uint64_t* words, std::size_t count,
                                   std::uint64_t result) const {
  const std::uint64_t most = asked(words, count);
  switch (length) {
    case Length::kNothing:
      return 0;
    case Length::kResult:
      return static_cast<std::int64_t>(result) < 0 ? 0 : std::min(result, most);
    case Length::kItems:
      return std::min(result * word(words, count, size - 1), most);
    case Length::kText:
      return result == 0 ? 0 : most & 0xffffffff;
    case Length::kStatus:
      return (result & 0xffffffff) == 0 ? most : 0;
  }
  return 0;
}

std::string InputFunction::key(const std::uint64_t* words, std::size_t count, std::string_view path) const {
  std::string key = name;
  key += ' ';
  key += is_path ? std::string(path) : std::to_string(word(words, count, what));
  if (offset) key += " at " + std::to_string(word(words, count, *offset));
  return key;
}

// --- In a live world

const InputCall* Input::next(const InputFunction& function, const std::string& key) {
  const auto found = calls_.find(key);
  if (found == calls_.end() || found->second.empty()) return nullptr;
  taken_ = found->second.front();
  if (!function.is_lasting()) found->second.pop_front();
  return &*taken_;
}

Input Input::decode(std::string_view bytes) {
  Input input;
  std::string key;
  InputCall call;
  while (get(bytes, key) && get(bytes, call.asked) && get(bytes, call.result) && get(bytes, call.bytes) &&
         get(bytes, call.is_known) && call.is_known.size() == call.bytes.size())
    input.add(key, call);
  return input;
}

// --- In a replay

void InputRecorder::on_call_end(ThreadId thread, const OpenCall& call, const InputFunction& function,
                                std::string_view path) {
  pending_[thread] = {call.site, &function, function.key(call.words, call.count, path),
                      std::vector<std::uint64_t>(call.words, call.words + call.count)};
}

void InputRecorder::on_result(ThreadId thread, SiteId site, std::uint64_t value) {
  const auto found = pending_.find(thread);
  if (found == pending_.end()) return;
  const Pending call = std::move(found->second);
  pending_.erase(found);
  if (call.site != site) return;
  const std::uint64_t given = call.function->given(call.words.data(), call.words.size(), value);
  if (given > kMostBytes - bytes_) return;
  bytes_ += given;
  noted_.push_back({call.key, {}});
  InputCall& noted = noted_.back().call;
  noted.asked = call.function->asked(call.words.data(), call.words.size());
  noted.result = value;
  noted.bytes.resize(given);
  noted.is_known.resize(given);
  if (given == 0) return;
  const std::uint64_t start = call.words[call.function->buffer];
  on_overwritten(Address(start), given);
  buffers_[start] = {start + given, noted_.size() - 1, start};
}

void InputRecorder::on_access(const Access& access) {
  if (buffers_.empty()) return;
  if (access.is_write) return on_overwritten(access.address, access.size);
  for (std::uint32_t i = 0; i < access.size; ++i) {
    const std::uint64_t at = access.address.value() + i;
    auto found = buffers_.upper_bound(at);
    if (found == buffers_.begin() || (--found)->second.end <= at) continue;
    InputCall& call = noted_[found->second.noted].call;
    const std::uint64_t in = at - found->second.start;
    if (call.is_known[in] != 0) continue;
    call.is_known[in] = 1;
    call.bytes[in] = static_cast<char>(access.value >> (8 * i));
  }
}

// Buffers lose what is overwritten: from then on it is not what was read.
void InputRecorder::on_overwritten(Address address, std::uint64_t size) {
  const std::uint64_t from = address.value(), to = from + size;
  auto at = buffers_.upper_bound(from);
  if (at != buffers_.begin() && std::prev(at)->second.end > from) --at;
  while (at != buffers_.end() && at->first < to) {
    const std::uint64_t start = at->first;
    const Buffer whole = at->second;
    at = buffers_.erase(at);
    if (start < from) buffers_[start] = {from, whole.noted, whole.start};
    if (to < whole.end) buffers_[to] = whole;
  }
}

std::string InputRecorder::encode() const {
  std::string all;
  for (const Noted& noted : noted_) {
    put(all, noted.key);
    put(all, noted.call.asked);
    put(all, noted.call.result);
    put(all, noted.call.bytes);
    put(all, noted.call.is_known);
  }
  return all;
}

}  // namespace deadheat::replay::live
