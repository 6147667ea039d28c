#include "trace/checker.h"

#include <algorithm>

namespace deadheat {

std::string TraceChecker::at(Where where) {
  return where.line != 0 ? "line " + std::to_string(where.line)
                         : "event " + std::to_string(where.index.value());
}

TraceChecker::Thread& TraceChecker::thread(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(std::max(id.index() + 1, threads_.size() * 2));
  return threads_[id.index()];
}

TraceChecker::Location& TraceChecker::location(ObjectId id) {
  if (id.index() >= locations_.size()) locations_.resize(std::max(id.index() + 1, locations_.size() * 2));
  return locations_[id.index()];
}

std::optional<std::string> TraceChecker::on_event(EventIndex index, const Event& event) {
  const Where here{index, event.line};
  if (auto wrong = check_life(thread(event.thread), event, here)) return wrong;
  if (event.kind == EventKind::kEnd) leave_all(event.thread, index);
  switch (event.kind) {
    case EventKind::kAcquire:
    case EventKind::kRelease:
      return check_lock(event, here);
    case EventKind::kFork:
    case EventKind::kJoin:
      return check_child(event, here);
    case EventKind::kRead:
    case EventKind::kWrite:
      return check_value(index, event);
    case EventKind::kEnter:
    case EventKind::kLeave:
      return check_call(index, event);
    default:
      return std::nullopt;
  }
}

std::optional<std::string> TraceChecker::check_life(Thread& thread, const Event& event, Where here) {
  switch (thread.life) {
    case Life::kEnded:
      return "expected no event of thread " + thread_name(event.thread) + " after its end at " +
             at(thread.since) + ", found one";
    case Life::kJoined:
      return "expected no event of thread " + thread_name(event.thread) + " after it was joined at " +
             at(thread.since) + ", found one";
    case Life::kRunning:
      if (event.kind == EventKind::kBegin) {
        return "expected begin as the first event of thread " + thread_name(event.thread) +
               ", found an earlier one at " + at(thread.since);
      }
      break;
    case Life::kUnknown:
    case Life::kForked:
      thread.life = Life::kRunning;
      thread.since = here;
      break;
  }
  if (event.kind == EventKind::kEnd) {
    thread.life = Life::kEnded;
    thread.since = here;
  }
  return std::nullopt;
}

std::optional<std::string> TraceChecker::check_lock(const Event& event, Where here) {
  if (event.object.index() >= locks_.size())
    locks_.resize(std::max(event.object.index() + 1, locks_.size() * 2));
  Lock& lock = locks_[event.object.index()];
  const std::uint64_t now = here.index.value() + 1;
  const std::uint64_t used_by_others = lock.user == event.thread ? lock.used_by_others : lock.used;
  const auto called = [&](ThreadId thread, std::uint64_t since) {
    return !sets_.empty() && has_called(thread, names_.object(event), since);
  };
  const auto use = [&] {
    lock.used_by_others = used_by_others;
    lock.user = event.thread;
    lock.used = now;
  };
  const auto name = [&] { return "lock '" + std::string(names_.object(event)) + "'"; };
  if (event.kind == EventKind::kAcquire) {
    // Untraced code of its holder may have released it since.
    if (lock.times > 0 && called(lock.holder, lock.taken.index.value() + 1)) lock.times = 0;
    if (lock.times > 0 && lock.holder != event.thread) {
      return "expected " + name() + " to be free, found it held by thread " + thread_name(lock.holder) +
             " since " + at(lock.taken);
    }
    if (lock.times++ == 0) {
      lock.holder = event.thread;
      lock.taken = here;
    }
    use();
    return std::nullopt;
  }
  const bool is_holder = lock.times > 0 && lock.holder == event.thread;
  // Untraced code may have taken it for this thread, after any other thread had it.
  if (!is_holder && called(event.thread, used_by_others) &&
      (lock.times == 0 || called(lock.holder, lock.taken.index.value() + 1))) {
    lock.times = 0;
    use();
    return std::nullopt;
  }
  if (lock.times == 0)
    return "expected " + name() + " to be held by thread " + thread_name(event.thread) + ", found it free";
  if (lock.holder != event.thread) {
    return "expected " + name() + " to be held by thread " + thread_name(event.thread) +
           ", found it held by thread " + thread_name(lock.holder) + " since " + at(lock.taken);
  }
  --lock.times;
  use();
  return std::nullopt;
}

bool TraceChecker::has_called(ThreadId thread, std::string_view name, std::uint64_t since) {
  const std::optional<std::uint32_t> location = names_.locations.find(name);
  if (!location || *location >= locations_.size()) return false;
  std::vector<std::uint32_t>& sets = locations_[*location].reached_by;
  for (std::uint32_t& set : sets) {
    const auto calls = calls_of_.find(std::uint64_t{thread.value()} << 32 | set);
    if (calls == calls_of_.end() || (calls->second.open == 0 && calls->second.left <= since)) continue;
    std::swap(set, sets.front());  // likely to be the answer next time
    return true;
  }
  return false;
}

std::optional<std::string> TraceChecker::check_child(const Event& event, Where here) {
  const ThreadId child(static_cast<std::uint32_t>(event.object.value()));
  const bool fork = event.kind == EventKind::kFork;
  if (child == event.thread) {
    return std::string("expected another thread in ") + (fork ? "fork" : "join") +
           ", found the thread itself";
  }
  Thread& other = thread(child);
  if (fork) {
    if (other.life != Life::kUnknown) {
      static constexpr const char* how[] = {"", "forked since ", "running since ", "ended at ", "joined at "};
      return "expected thread " + thread_name(child) + " to be new, found it " +
             how[static_cast<int>(other.life)] + at(other.since);
    }
    other.life = Life::kForked;
    other.since = here;
    return std::nullopt;
  }
  leave_all(child, here.index);
  if (other.life != Life::kJoined) {
    other.life = Life::kJoined;
    other.since = here;
  }
  return std::nullopt;
}

std::optional<std::string> TraceChecker::check_value(EventIndex index, const Event& event) {
  Location& location = this->location(event.object);
  if (event.kind == EventKind::kWrite) {
    location.known = event.has_value;
    location.by_read = false;
    location.value = event.value;
    location.since = index.value() + 1;
    return std::nullopt;
  }
  if (!event.has_value) return std::nullopt;
  const auto may_have_changed = [&] {
    for (std::uint32_t& set : location.reached_by) {
      if (sets_[set].open == 0 && sets_[set].left <= location.since) continue;
      std::swap(set, location.reached_by.front());  // likely to be the answer next time
      return true;
    }
    return false;
  };
  if (location.known && location.value != event.value && !may_have_changed()) {
    const Where seen{EventIndex(location.since - 1), location.line};
    return "expected a read of '" + std::string(names_.object(event)) + "' to see " +
           std::to_string(static_cast<std::int64_t>(location.value)) +
           (location.by_read      ? ", as the read at " + at(seen) + " did, found "
            : location.since == 0 ? std::string(", as nothing was written, found ")
                                  : std::string(", the last value written, found ")) +
           std::to_string(static_cast<std::int64_t>(event.value));
  }
  // Whatever wrote it, this is what is there now. (Where that is known already, the message names the write.)
  if (!location.known || location.value != event.value || !location.reached_by.empty()) {
    location.known = location.by_read = true;
    location.value = event.value;
    location.since = index.value() + 1;
    location.line = event.line;
  }
  return std::nullopt;
}

std::optional<std::string> TraceChecker::check_call(EventIndex index, const Event& event) {
  const auto open = calls_.find(event.thread.value());
  const std::uint32_t function = static_cast<std::uint32_t>(event.object.value());
  if (event.kind == EventKind::kEnter) {
    if (open != calls_.end() && open->second.size() >= kMaxOpenCalls) {
      return "expected at most " + std::to_string(kMaxOpenCalls) + " open calls of thread " +
             thread_name(event.thread) + ", found one more";
    }
    const std::uint32_t set = static_cast<std::uint32_t>(event.value);
    if (set >= sets_.size()) sets_.resize(std::max<std::size_t>(set + 1, sets_.size() * 2));
    if (!sets_[set].seen) {
      sets_[set].seen = true;
      for (const ObjectId member : names_.reachable.at(set)) location(member).reached_by.push_back(set);
    }
    ++sets_[set].open;
    ++calls_of_[std::uint64_t{event.thread.value()} << 32 | set].open;
    calls_[event.thread.value()].push_back({function, set});
    return std::nullopt;
  }
  const auto name = [&] { return "leave(" + std::string(names_.object(event)) + ")"; };
  if (open == calls_.end()) return "expected enter before " + name() + ", found no open call";
  std::vector<Call>& calls = open->second;
  if (calls.back().function != function) {
    return "expected leave(" + std::string(names_.functions.name(calls.back().function)) +
           ") for the innermost call, found " + name();
  }
  leave(event.thread, calls.back(), index);
  calls.pop_back();
  if (calls.empty()) calls_.erase(open);
  return std::nullopt;
}

void TraceChecker::leave(ThreadId thread, const Call& call, EventIndex index) {
  Set& set = sets_[call.set];
  --set.open;
  set.left = index.value() + 1;
  Calls& calls = calls_of_[std::uint64_t{thread.value()} << 32 | call.set];
  --calls.open;
  calls.left = index.value() + 1;
}

void TraceChecker::leave_all(ThreadId thread, EventIndex index) {
  const auto open = calls_.find(thread.value());
  if (open == calls_.end()) return;
  for (const Call& call : open->second) leave(thread, call, index);
  calls_.erase(open);
}

namespace {

class CheckedSource final : public TraceSource {
 public:
  CheckedSource(std::unique_ptr<TraceSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)), checker_(source_->names()) {}

  const Names& names() const override { return source_->names(); }
  std::string note() const override { return source_->note(); }
  std::optional<std::uint64_t> total_events() const override { return source_->total_events(); }
  double progress() const override { return source_->progress(); }

  Result<std::size_t> read(std::span<Event> out) override {
    if (wrong_) return *wrong_;
    Result<std::size_t> got = source_->read(out);
    if (!got.ok()) return got;
    for (std::size_t i = 0; i < *got; ++i) {
      const EventIndex index(position_ + i);
      std::optional<std::string> wrong = checker_.on_event(index, out[i]);
      if (!wrong) continue;
      const std::string where =
          out[i].line != 0 ? ":" + std::to_string(out[i].line) : ": event " + std::to_string(index.value());
      wrong_ = Error{path_ + where + ": " + *wrong};
      return *wrong_;
    }
    position_ += *got;
    return got;
  }

 private:
  std::unique_ptr<TraceSource> source_;
  std::string path_;
  TraceChecker checker_;
  std::uint64_t position_ = 0;
  std::optional<Error> wrong_;
};

}  // namespace

std::unique_ptr<TraceSource> checked(std::unique_ptr<TraceSource> source, std::string path) {
  return std::make_unique<CheckedSource>(std::move(source), std::move(path));
}

Result<std::unique_ptr<TraceSource>> open_checked_trace(const std::string& path, const std::string& shown) {
  Result<std::unique_ptr<TraceSource>> source = open_trace(path, shown);
  if (!source.ok()) return source;
  return checked(std::move(*source), shown.empty() ? path : shown);
}

}  // namespace deadheat
