// What was in memory already where the threads stopped, and only the rest of the recording tells.
//
// The recording of a program that has read a file knows none of its bytes before the program looks at them:
// they reach the log when they are loaded. A live world may need them where the recording looks later. So the
// replay goes on, in a process of its own, from the stops to its end, and of every byte that was not known
// the first thing that happens to it is noted: if it is read, its value was there at the stops; if somebody
// writes it, allocates it or maps it first, nobody will ever know.
//
// One thing can be wrong: code that was not recorded wrote the byte in between, by no library function that
// the runtime or unseen_writes.h knows.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <string>
#include <unordered_map>

#include "replay/live/input.h"
#include "replay/memory_image.h"

namespace deadheat::replay::live {

class Foresight final : public Observer {
 public:
  // `image`: as it is at the stops, and told of events after this observer.
  explicit Foresight(const MemoryImage& image) : image_(image) {}

  void on_access(const Access& access) override;
  void on_library_access(ThreadId, SiteId, const recording::LibraryAccess& access) override;
  void on_sequencer(ThreadId, SiteId, const recording::Sequencer& sequencer) override;

  // Of what the program reads from outside, too; told of calls by the history.
  InputRecorder& input() { return input_; }

  // Something happens to these bytes: what is read there from now on was not there at the stops.
  void settle(Address address, std::uint64_t size);

  std::string encode() const;
  // Writes what was told into an image; returns how many bytes that are. Bytes that are known stay.
  static std::uint64_t apply(std::string_view told, MemoryImage& image, Input& input);

 private:
  static constexpr std::uint64_t kPageBytes = MemoryImage::kPageBytes;
  struct Page {
    std::array<std::uint8_t, kPageBytes> bytes{};
    std::bitset<kPageBytes> is_settled;
    std::bitset<kPageBytes> is_foreseen;
  };
  Page& page_of(std::uint64_t number);

  const MemoryImage& image_;
  InputRecorder input_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace deadheat::replay::live
