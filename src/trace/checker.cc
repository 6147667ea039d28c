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
  const auto name = [&] { return "lock '" + std::string(names_.object(event)) + "'"; };
  if (event.kind == EventKind::kAcquire) {
    if (lock.times > 0 && lock.holder != event.thread) {
      return "expected " + name() + " to be free, found it held by thread " + thread_name(lock.holder) +
             " since " + at(lock.taken);
    }
    if (lock.times++ == 0) {
      lock.holder = event.thread;
      lock.taken = here;
    }
    return std::nullopt;
  }
  if (lock.times == 0)
    return "expected " + name() + " to be held by thread " + thread_name(event.thread) + ", found it free";
  if (lock.holder != event.thread) {
    return "expected " + name() + " to be held by thread " + thread_name(event.thread) +
           ", found it held by thread " + thread_name(lock.holder) + " since " + at(lock.taken);
  }
  --lock.times;
  return std::nullopt;
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
      return "expected thread " + thread_name(child) + " to be new, found it " +
             (other.life == Life::kForked ? "forked" : "running") + " since " + at(other.since);
    }
    other.life = Life::kForked;
    other.since = here;
    return std::nullopt;
  }
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
    location.value = event.value;
    location.written = index.value() + 1;
    return std::nullopt;
  }
  if (!event.has_value || !location.known || location.value == event.value) return std::nullopt;
  for (std::uint32_t& set : location.reached_by) {
    if (sets_[set].open == 0 && sets_[set].left <= location.written) continue;
    std::swap(set, location.reached_by.front());  // likely to be the answer next time
    return std::nullopt;
  }
  return "expected a read of '" + std::string(names_.object(event)) + "' to see " +
         std::to_string(static_cast<std::int64_t>(location.value)) +
         (location.written == 0 ? ", as nothing was written, found " : ", the last value written, found ") +
         std::to_string(static_cast<std::int64_t>(event.value));
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
  Set& set = sets_[calls.back().set];
  --set.open;
  set.left = index.value() + 1;
  calls.pop_back();
  if (calls.empty()) calls_.erase(open);
  return std::nullopt;
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
