#include "far_races.h"

#include <algorithm>
#include <deque>
#include <random>
#include <string>

namespace deadheat::bench {
namespace {

struct Operation {
  EventKind kind;
  std::uint64_t object;
  std::string site;
  int planted = -1;                         // number of the race
  int value = -1;                           // to write; -1: any
  int decoy_first = -1, decoy_second = -1;  // number of the decoy whose part ends here
};

class Generator {
 public:
  explicit Generator(const FarRaces& shape) : shape_(shape), random_(shape.seed), queues_(shape.threads) {
    Names& names = result_.trace.names;
    for (int t = 0; t < shape.threads; ++t) names.threads.intern("T" + std::to_string(t));
    for (int l = 0; l < shape.locks; ++l) names.locks.intern("lock" + std::to_string(l));
    names.functions.intern("library");
    owner_.assign(shape.locks, -1);
    std::uint64_t room = shape.events;
    for (std::uint64_t distance : shape.distances) {
      std::uint64_t latest = room > distance + 200 ? room - distance - 100 : 100;
      starts_.push_back(100 + random_() % std::max<std::uint64_t>(1, latest - 99));
    }
    result_.races.resize(shape.distances.size());
    state_.assign(shape.distances.size(), 0);
    for (int i = 0; i < shape.decoys; ++i) {
      std::uint64_t gap = 10 + random_() % (std::uint64_t{1} << (4 + i % 10));  // up to 8,202
      std::uint64_t room_left = room > gap + 400 ? room - gap - 400 : 100;
      decoys_.push_back({.start = 100 + random_() % room_left, .gap = gap});
    }
  }

  PlantedTrace run() {
    while (result_.trace.events.size() < shape_.events) {
      plant();
      plant_decoys();
      int t = static_cast<int>(random_() % static_cast<unsigned>(shape_.threads));
      if (queues_[t].empty()) refill(t);
      step(t);
    }
    return std::move(result_);
  }

 private:
  std::uint64_t location(const std::string& name) { return result_.trace.names.locations.intern(name); }
  int half(int thread) const { return thread < shape_.threads / 2 ? 0 : 1; }
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  void plant() {
    std::uint64_t now = result_.trace.events.size();
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      bool first = state_[i] == 0 && now >= starts_[i];
      bool second = state_[i] == 2 && now >= result_.races[i].first + shape_.distances[i];
      if (!first && !second) continue;
      ++state_[i];
      int half_size = shape_.threads / 2;
      int thread =
          first ? static_cast<int>(below(static_cast<unsigned>(half_size)))
                : half_size + static_cast<int>(below(static_cast<unsigned>(shape_.threads - half_size)));
      std::string name = "race" + std::to_string(i);
      std::deque<Operation>& queue = queues_[thread];
      Operation access{EventKind::kWrite, location(name), name + (first ? ":1" : ":2"), static_cast<int>(i)};
      // After what the thread is in the middle of.
      if (first && i % 2 == 1) {
        auto lock = static_cast<std::uint64_t>(below(static_cast<unsigned>(shape_.locks)));
        queue.push_back({EventKind::kAcquire, lock, "plant:3"});
        queue.push_back(access);
        queue.push_back({EventKind::kRelease, lock, "plant:4"});
      } else {
        queue.push_back(access);
      }
    }
  }

  void plant_decoys() {
    std::uint64_t now = result_.trace.events.size();
    for (std::size_t i = 0; i < decoys_.size(); ++i) {
      Decoy& decoy = decoys_[i];
      if (now < decoy.start || decoy.state == 1 || decoy.state == 3) continue;
      const bool first = decoy.state == 0;
      ++decoy.state;
      decoy.start = UINT64_MAX;
      int half_size = shape_.threads / 2;
      int thread = static_cast<int>(below(static_cast<unsigned>(half_size))) + (first ? half_size : 0);
      if (first) decoy.lock = below(static_cast<unsigned>(shape_.locks));
      std::string name = "decoy" + std::to_string(i);
      std::string place = name + (first ? ":1" : ":2");
      std::deque<Operation>& queue = queues_[thread];
      auto section = [&](std::vector<Operation> body) {
        queue.push_back({EventKind::kAcquire, decoy.lock, place + "1"});
        queue.insert(queue.end(), body.begin(), body.end());
        queue.push_back({EventKind::kRelease, decoy.lock, place + "2"});
      };
      Operation access{EventKind::kWrite, location(name), place + "0"};
      Operation last = access;
      (first ? last.decoy_first : last.decoy_second) = static_cast<int>(i);
      if (shape_.values && i % 2 == 1) {
        auto flag = [&](int value) {
          return Operation{EventKind::kWrite, location(name + "_flag"), place + "3", -1, value};
        };
        auto count = [&](int value) {
          return Operation{EventKind::kWrite, location(name + "_number"), place + "4", -1, value};
        };
        if (first) {
          section({flag(1), count(0)});
          section({flag(0), count(1)});
          queue.push_back(access);
          Operation end = count(1);
          end.decoy_first = static_cast<int>(i);
          section({flag(1), end});
        } else {
          section({{EventKind::kRead, location(name + "_flag"), place + "5"},
                   {EventKind::kRead, location(name + "_number"), place + "6"}});
          queue.push_back(last);
        }
      } else if (first) {
        section({{EventKind::kWrite, location(name + "_q"), place + "7", -1, 1}, last});
      } else {
        section({{EventKind::kRead, location(name + "_q"), place + "8"}});
        queue.push_back(last);
      }
    }
  }

  void refill(int t) {
    auto& queue = queues_[t];
    std::string place = "work" + std::to_string(half(t)) + ":";
    unsigned lock = below(static_cast<unsigned>(shape_.locks));
    if (shape_.mailboxes && t / 2 * 2 + 1 < shape_.threads && below(8) == 0) return use_mailbox(t);
    if (shape_.calls && below(4) == 0) {
      std::vector<ObjectId> reach = {ObjectId(location("opaque" + std::to_string(half(t))))};
      queue.push_back({EventKind::kEnter, result_.trace.names.reachable.intern(reach), place + "90"});
      queue.push_back({EventKind::kLeave, 0, place + "91"});
      return;
    }
    queue.push_back({EventKind::kAcquire, lock, place + std::to_string(lock * 10)});
    std::string data = "data" + std::to_string(half(t)) + "_" + std::to_string(lock);
    std::string counter = "counter" + std::to_string(lock);
    std::string own = "own" + std::to_string(t);
    switch (below(4)) {
      case 0:
        queue.push_back({EventKind::kRead, location(data), place + std::to_string(lock * 10 + 1)});
        queue.push_back({EventKind::kWrite, location(data), place + std::to_string(lock * 10 + 2)});
        break;
      case 1:
        queue.push_back({EventKind::kRead, location(own), place + std::to_string(lock * 10 + 3)});
        queue.push_back({EventKind::kWrite, location(counter), place + std::to_string(lock * 10 + 4)});
        break;
      default:
        queue.push_back({EventKind::kWrite, location(counter), place + std::to_string(lock * 10 + 5)});
        queue.push_back({EventKind::kWrite, location(own), place + std::to_string(lock * 10 + 6)});
        break;
    }
    queue.push_back({EventKind::kRelease, lock, place + std::to_string(lock * 10 + 7)});
  }

  // Even threads fill the box of their pair, odd ones empty it.
  void use_mailbox(int t) {
    auto& queue = queues_[t];
    std::string box = std::to_string(t / 2);
    std::uint64_t flag = location("full" + box);
    std::uint64_t item = location("item" + box);
    auto lock = static_cast<std::uint64_t>(t / 2 % shape_.locks);
    memory_.resize(std::max<std::size_t>(memory_.size(), flag + 1), 0);
    std::string place = t % 2 == 0 ? "put:" : "get:";
    bool can_go_on = memory_[flag] == static_cast<std::uint64_t>(t % 2);
    queue.push_back({EventKind::kAcquire, lock, place + "1"});
    queue.push_back({EventKind::kRead, flag, place + "2"});
    queue.push_back({EventKind::kRelease, lock, place + "3"});
    if (!can_go_on) return;
    queue.push_back({EventKind::kWrite, item, place + "4"});
    queue.push_back({EventKind::kAcquire, lock, place + "5"});
    queue.push_back({EventKind::kWrite, flag, place + "6", -1, 1 - t % 2});
    queue.push_back({EventKind::kRelease, lock, place + "7"});
  }

  void step(int t) {
    Operation operation = queues_[t].front();
    if (operation.kind == EventKind::kAcquire) {
      if (owner_[operation.object] != -1) return;
      owner_[operation.object] = t;
    }
    queues_[t].pop_front();
    if (operation.kind == EventKind::kRelease) owner_[operation.object] = -1;
    Event event;
    event.kind = operation.kind;
    event.thread = ThreadId(static_cast<std::uint32_t>(t));
    event.object = ObjectId(operation.object);
    event.site = SiteId(result_.trace.names.sites.intern(operation.site));
    if (operation.kind == EventKind::kEnter) {
      event.value = operation.object;
      event.object = ObjectId(0);
    }
    if (is_access(operation.kind) && shape_.values) {
      memory_.resize(std::max<std::size_t>(memory_.size(), operation.object + 1), 0);
      if (operation.kind == EventKind::kWrite)
        memory_[operation.object] =
            operation.value >= 0 ? static_cast<std::uint64_t>(operation.value) : below(4);
      event.has_value = true;
      event.value = memory_[operation.object];
    }
    std::uint64_t index = result_.trace.events.size();
    result_.trace.events.push_back(event);
    if (operation.planted >= 0) {
      auto i = static_cast<std::size_t>(operation.planted);
      (state_[i] == 1 ? result_.races[i].first : result_.races[i].second) = index;
      ++state_[i];
    }
    if (operation.decoy_first >= 0) {
      Decoy& decoy = decoys_[static_cast<std::size_t>(operation.decoy_first)];
      decoy.state = 2;
      decoy.start = index + decoy.gap;
    }
    if (operation.decoy_second >= 0) ++result_.decoys;
  }

  const FarRaces& shape_;
  std::mt19937_64 random_;
  PlantedTrace result_;
  std::vector<std::deque<Operation>> queues_;
  std::vector<int> owner_;
  std::vector<std::uint64_t> starts_;
  std::vector<int> state_;  // per race: 0 nothing, 1 first queued, 2 first done, 3 second queued, 4 done
  std::vector<std::uint64_t> memory_;
  struct Decoy {
    std::uint64_t start = 0;  // of its next part
    std::uint64_t gap = 0;    // between the parts
    int state = 0;            // as state_
    std::uint64_t lock = 0;
  };
  std::vector<Decoy> decoys_;
};

}  // namespace

PlantedTrace far_races(const FarRaces& shape) { return Generator(shape).run(); }

}  // namespace deadheat::bench
