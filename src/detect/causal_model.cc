#include "detect/causal_model.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace deadheat::detect {

void ListTable::freeze(std::uint32_t keys) {
  starts_.assign(std::size_t{keys} + 1, 0);
  for (const Entry& entry : pending_) ++starts_[entry.key + 1];
  for (std::size_t key = 0; key < keys; ++key) starts_[key + 1] += starts_[key];
  items_.resize(pending_.size());
  std::vector<std::uint32_t> fill(starts_.begin(), starts_.end() - 1);
  for (const Entry& entry : pending_) items_[fill[entry.key]++] = entry.item;
  pending_ = {};
}

Chains find_chains(std::span<const Event> events, const Names& names, bool barriers) {
  Chains chains;
  chains.of_thread.assign(names.threads.size(), kNone);
  if (barriers) {
    for (std::uint32_t& chain : chains.of_thread) chain = chains.count++;
    return chains;
  }
  // Of each thread: chains of those that it has joined, and of those that these had joined.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> left;
  std::vector<char> joined(names.threads.size(), 0);
  for (const Event& event : events) {
    std::uint32_t& mine = chains.of_thread[event.thread.index()];
    if (mine == kNone) mine = chains.count++;
    if (event.kind != EventKind::kFork && event.kind != EventKind::kJoin) continue;
    auto child = static_cast<std::uint32_t>(event.object.value());
    std::uint32_t& theirs = chains.of_thread[child];
    auto& free = left[event.thread.value()];
    if (event.kind == EventKind::kFork) {
      if (theirs != kNone) continue;
      theirs = free.empty() ? chains.count++ : free.back();
      if (!free.empty()) free.pop_back();
    } else if (theirs != kNone && child != event.thread.value() && !std::exchange(joined[child], 1)) {
      std::vector<std::uint32_t> more;
      if (auto found = left.find(child); found != left.end()) more = std::move(found->second);
      left.erase(child);
      auto& into = left[event.thread.value()];
      into.insert(into.end(), more.begin(), more.end());
      into.push_back(theirs);
    }
  }
  for (std::uint32_t& chain : chains.of_thread) {
    if (chain == kNone) chain = chains.count++;
  }
  return chains;
}

// One pass over the trace.
class CausalModel::Builder {
 public:
  Builder(CausalModel& model, const Names& names, bool barriers, BudgetWatch& watch)
      : model_(model),
        names_(names),
        pending_(names.threads.size()),
        fork_(names.threads.size(), kNoNode),
        last_(names.threads.size(), kNoNode),
        version_(names.locations.size(), kNone),
        last_write_(names.locations.size(), kNoNode),
        sends_(names.messages.size()),
        released_after_call_(names.locks.size(), kNoNode) {
    if (barriers) acts_ = std::make_unique<BarrierActs>(model.events_, names, watch);
    for (const Event& event : model.events_) has_branch_ |= event.kind == EventKind::kBranch;
    model_.places_start_ = {0};
  }

  bool run(BudgetWatch& watch) {
    std::vector<Act> acts;
    std::vector<Node> after;
    for (std::uint64_t i = 0; i < model_.events_.size(); ++i) {
      if (watch.over(16 + std::exchange(steps_, 0))) return false;
      if (acts_ && model_.events_[i].kind == EventKind::kEnter) {
        // Its members are looked at when it begins, when it acts first and when it ends.
        const auto set = static_cast<std::uint32_t>(model_.events_[i].value);
        if (watch.over(8 * names_.reachable.at(set).size())) return false;
      }
      if (acts_) {
        acts_->before(i, model_.nodes(), acts, after);
        for (const Act& act : acts) add_act(act);
      }
      Node node = add_event(i);
      for (Node earlier : after) model_.hard_.add(node, earlier);
      if (acts_) acts_->done(i, node);
    }
    infer_values();
    std::uint32_t nodes = model_.nodes();
    model_.hard_.freeze(nodes);
    model_.reads_at_.freeze(nodes);
    model_.committed_by_.freeze(nodes);
    model_.closed_by_.freeze(nodes);
    model_.committers_.freeze(static_cast<std::uint32_t>(model_.reads_.size()));
    model_.sections_of_.freeze(model_.lock_count_ * model_.thread_count_);
    return true;
  }

 private:
  struct Held {
    std::uint32_t depth = 0;
    std::uint32_t section = kNone;
  };

  Node new_node(std::uint32_t event) {
    Node node = model_.nodes();
    model_.event_.push_back(event);
    model_.writes_.emplace_back();
    model_.section_at_.push_back(kNone);
    return node;
  }

  std::uint32_t chain_of(std::uint32_t thread) const { return model_.chain_of_thread_[thread]; }

  void place(Node node, std::uint32_t thread) {
    std::uint32_t number = chain_of(thread);
    auto& chain = model_.chains_[number];
    model_.places_.push_back({number, static_cast<std::uint32_t>(chain.size())});
    chain.push_back(node);
    last_[thread] = node;
    auto& sets = model_.open_set_[number];
    sets.push_back(sets.back());
  }

  void set_open_sections(std::uint32_t chain, std::vector<std::uint32_t> sections) {
    steps_ += sections.size();
    model_.open_set_[chain].back() = static_cast<std::uint32_t>(model_.open_sets_.size());
    model_.open_sets_.push_back(std::move(sections));
  }

  void depend(Node node, std::uint32_t read) {
    model_.committed_by_.add(node, read);
    model_.committers_.add(read, node);
  }

  void commit(Node node, std::uint32_t thread) {
    for (std::uint32_t read : pending_[thread]) depend(node, read);
    pending_[thread].clear();
  }

  void add_act(const Act& act) {
    Node node = new_node(kNone);
    for (std::uint32_t thread : act.threads) {
      place(node, thread);
      commit(node, thread);
    }
    model_.places_start_.push_back(static_cast<std::uint32_t>(model_.places_.size()));
    for (Node earlier : act.after) model_.hard_.add(node, earlier);
    for (std::uint32_t thread : act.ends) see_end(node, thread);
    for (auto [thread, lock] : act.locks) lose_sight(node, thread, lock);
    for (std::uint32_t location : act.locations) {
      Node last = last_write_[location];
      if (last != kNoNode) {
        const WriteRecord& write = model_.writes_[last];
        depend(node, add_read({.node = node,
                               .location = version_[location],
                               .saw = last,
                               .has_value = write.has_value,
                               .value = write.value}));
      }
      version_[location] = kNone;
      last_write_[location] = kNoNode;
    }
  }

  std::uint32_t add_read(const ReadRecord& record) {
    auto read = static_cast<std::uint32_t>(model_.reads_.size());
    model_.reads_.push_back(record);
    model_.reads_at_.add(record.node, read);
    return read;
  }

  // A write wrote what a read of it says that it saw, and a read saw what its write says, in every program
  // that can have made this trace. (Where the two contradict each other, code that was not traced wrote in
  // between.)
  void infer_values() {
    for (const ReadRecord& read : model_.reads_) {
      if (!read.has_value || read.saw == kNoNode || model_.writes_[read.saw].has_value) continue;
      model_.writes_[read.saw].has_value = true;
      model_.writes_[read.saw].value = read.value;
    }
    for (ReadRecord& read : model_.reads_) {
      if (read.has_value) continue;
      if (read.saw == kNoNode) {
        read.has_value = model_.versions_[read.location].starts_at_zero;
        read.value = 0;
      } else if (const WriteRecord& write = model_.writes_[read.saw]; write.has_value) {
        read.has_value = true;
        read.value = write.value;
      }
    }
  }

  std::uint32_t version_of(std::uint32_t location) {
    if (version_[location] == kNone) {
      version_[location] = static_cast<std::uint32_t>(model_.versions_.size());
      model_.versions_.push_back(
          {.location = location, .starts_at_zero = acts_ == nullptr || !acts_->acted_on(location)});
    }
    return version_[location];
  }

  Node add_event(std::uint64_t index) {
    const Event& event = model_.events_[index];
    auto thread = static_cast<std::uint32_t>(event.thread.index());
    Node node = new_node(static_cast<std::uint32_t>(index));
    model_.node_of_[index] = node;
    if (last_[thread] == kNoNode && fork_[thread] != kNoNode) model_.hard_.add(node, fork_[thread]);
    place(node, thread);
    model_.places_start_.push_back(static_cast<std::uint32_t>(model_.places_.size()));
    // Missing code depends on all that its thread has read: its acts commit it, see add_act().
    bool depends = !has_branch_ || event.kind == EventKind::kBranch;
    if (depends) commit(node, thread);
    auto object = static_cast<std::uint32_t>(event.object.value());
    switch (event.kind) {
      case EventKind::kRead:
      case EventKind::kWrite:
        access(event, node, thread, object);
        break;
      case EventKind::kAcquire:
        acquire(node, thread, object);
        break;
      case EventKind::kRelease:
        release(node, thread, object);
        break;
      case EventKind::kFork:
        if (fork_[object] == kNoNode) fork_[object] = node;
        break;
      case EventKind::kJoin:
        join(node, object);
        break;
      case EventKind::kSend:
        send(node, object);
        break;
      case EventKind::kReceive:
        receive(node, object);
        break;
      default:
        break;
    }
    return node;
  }

  void access(const Event& event, Node node, std::uint32_t thread, std::uint32_t location) {
    std::uint32_t version = version_of(location);
    model_.versions_[version].accesses.push_back(node);
    if (event.kind == EventKind::kRead) {
      std::uint32_t read = add_read({.node = node,
                                     .location = version,
                                     .saw = last_write_[location],
                                     .has_value = event.has_value,
                                     .value = event.value});
      pending_[thread].push_back(read);
      model_.thread_reads_[thread].push_back(read);
      return;
    }
    auto end = static_cast<std::uint32_t>(model_.thread_reads_[thread].size());
    model_.writes_[node] = {.location = version,
                            .has_value = event.has_value,
                            .value = event.value,
                            .unsettled_begin = end - static_cast<std::uint32_t>(pending_[thread].size()),
                            .unsettled_end = end};
    model_.versions_[version].writes.push_back(node);
    last_write_[location] = node;
  }

  void acquire(Node node, std::uint32_t thread, std::uint32_t lock) {
    if (released_after_call_[lock] != kNoNode) model_.hard_.add(node, released_after_call_[lock]);
    if (acts_ && acts_->reaches(thread, lock)) return;
    Held& held = held_[std::uint64_t{thread} << 32 | lock];
    if (held.depth++ > 0) return;
    held.section = static_cast<std::uint32_t>(model_.sections_.size());
    std::uint32_t chain = chain_of(thread);
    model_.sections_.push_back({.lock = lock, .thread = chain, .acquire = node});
    model_.section_at_[node] = held.section;
    model_.sections_of_.add(lock * model_.thread_count_ + chain, held.section);
    std::vector<std::uint32_t> open = model_.open_sets_[model_.open_set_[chain].back()];
    open.push_back(held.section);
    set_open_sections(chain, std::move(open));
  }

  void release(Node node, std::uint32_t thread, std::uint32_t lock) {
    Held& held = held_[std::uint64_t{thread} << 32 | lock];
    if (held.depth == 0) {
      // Missing code has taken it, or not released it.
      if (acts_) released_after_call_[lock] = node;
      return;
    }
    if (--held.depth > 0) return;
    model_.section_at_[node] = held.section;
    close(node, held, thread);
  }

  // From now on missing code may release the lock, and take it.
  void lose_sight(Node act, std::uint32_t thread, std::uint32_t lock) {
    auto held = held_.find(std::uint64_t{thread} << 32 | lock);
    if (held == held_.end() || held->second.depth == 0) return;
    held->second.depth = 0;
    model_.closed_by_.add(act, held->second.section);
    close(act, held->second, thread);
  }

  void close(Node node, const Held& held, std::uint32_t thread) {
    model_.sections_[held.section].release = node;
    std::uint32_t chain = chain_of(thread);
    std::vector<std::uint32_t> open = model_.open_sets_[model_.open_set_[chain].back()];
    std::erase(open, held.section);
    set_open_sections(chain, std::move(open));
  }

  void join(Node node, std::uint32_t child) {
    if (last_[child] == node) return;
    if (last_[child] == kNoNode) {
      // It does nothing that the trace shows; it is there to be joined only after its fork.
      if (fork_[child] != kNoNode) model_.hard_.add(node, fork_[child]);
      return;
    }
    model_.hard_.add(node, last_[child]);
    see_end(node, child);
  }

  // Without branches a thread's end depends on its last read too.
  void see_end(Node node, std::uint32_t thread) {
    if (has_branch_) return;
    for (std::uint32_t read : pending_[thread]) depend(node, read);
  }

  void receive(Node node, std::uint32_t message) {
    // The last send of each chain says it all, and what this chain has received before it has received.
    const Message& sent = sends_[message];
    std::uint32_t& seen = received_[std::uint64_t{message} << 32 | model_.thread(node)];
    std::vector<Node> news;
    if (sent.log.size() - seen <= sent.last.size()) {
      for (std::size_t i = seen; i < sent.log.size(); ++i) {
        if (sent.last.at(model_.thread(sent.log[i])) == sent.log[i]) news.push_back(sent.log[i]);
      }
      steps_ += sent.log.size() - seen;
    } else {
      for (const auto& [chain, send] : sent.last) {
        if (seen == 0 || send > sent.log[seen - 1]) news.push_back(send);
      }
      std::sort(news.begin(), news.end());
      steps_ += sent.last.size();
    }
    for (const Node send : news) model_.hard_.add(node, send);
    seen = static_cast<std::uint32_t>(sent.log.size());
  }

  void send(Node node, std::uint32_t message) {
    Message& sent = sends_[message];
    sent.log.push_back(node);
    sent.last[model_.thread(node)] = node;
  }

  CausalModel& model_;
  const Names& names_;
  std::unique_ptr<BarrierActs> acts_;
  bool has_branch_ = false;
  std::vector<std::vector<std::uint32_t>> pending_;  // reads that nothing depends on yet, per thread
  std::vector<Node> fork_, last_;                    // of each thread: its fork, and what it did last
  std::vector<std::uint32_t> version_;               // the current one of each location
  std::vector<Node> last_write_;                     // in that version
  struct Message {
    std::vector<Node> log;                         // sends, in the order of the trace
    std::unordered_map<std::uint32_t, Node> last;  // of each chain
  };
  std::vector<Message> sends_;
  std::unordered_map<std::uint64_t, std::uint32_t> received_;  // message and chain: so many of the log
  std::uint64_t steps_ = 0;                                    // of the event that was just added
  std::unordered_map<std::uint64_t, Held> held_;
  std::vector<Node> released_after_call_;  // per lock: the last release of what missing code may have taken
};

CausalModel::CausalModel(std::span<const Event> events, const Names& names, bool barriers, Chains chains,
                         const Budget& budget)
    : events_(events),
      chain_of_thread_(std::move(chains.of_thread)),
      thread_count_(chains.count),
      lock_count_(names.locks.size()),
      node_of_(events.size(), kNoNode),
      chains_(chains.count),
      thread_reads_(names.threads.size()),
      open_sets_(1),
      open_set_(chains.count, std::vector<std::uint32_t>{0}) {
  BudgetWatch watch(budget);
  if (!Builder(*this, names, barriers, watch).run(watch)) return;
  if (!index_writes(watch) || !compute_clocks(watch)) return;
  if (has_choice() && !compute_observed_clocks(watch)) return;
  is_built_ = true;
}

void CausalModel::join_clock(const std::vector<std::uint32_t>& clocks, std::span<std::uint32_t> into,
                             Node node) const {
  std::span<const std::uint32_t> other =
      std::span(clocks).subspan(std::size_t{node} * thread_count_, thread_count_);
  for (std::uint32_t t = 0; t < thread_count_; ++t) into[t] = std::max(into[t], other[t]);
  for (Place place : places(node)) into[place.thread] = std::max(into[place.thread], place.position + 1);
}

bool CausalModel::index_writes(BudgetWatch& watch) {
  auto add = [&](std::vector<ThreadWrites>& lists, Node write) {
    for (ThreadWrites& list : lists) {
      if (list.thread == thread(write)) return list.writes.push_back(write);
    }
    lists.push_back({thread(write), {write}});
  };
  for (Version& version : versions_) {
    for (Node write : version.writes) {
      add(version.by_thread, write);
      if (writes_[write].has_value) add(version.by_value[writes_[write].value], write);
      if (watch.over(8 + version.by_thread.size())) return false;
    }
  }
  return true;
}

bool CausalModel::has_choice() const {
  return std::any_of(reads_.begin(), reads_.end(), [&](const ReadRecord& read) {
    if (!read.has_value) return false;
    if (read.saw != kNoNode && start_can_give(read)) return true;
    const auto& by_value = versions_[read.location].by_value;
    const auto lists = by_value.find(read.value);
    if (lists == by_value.end()) return false;
    return lists->second.size() > 1 || lists->second.front().writes.size() > 1 ||
           lists->second.front().writes.front() != read.saw;
  });
}

bool CausalModel::floors(const ReadRecord& read, std::vector<std::uint32_t>& floors) const {
  floors.assign(thread_count_, 0);
  bool any = false;
  std::span<const std::uint32_t> before = clock(read.node);
  for (const ThreadWrites& list : versions_[read.location].by_thread) {
    auto end = std::partition_point(list.writes.begin(), list.writes.end(),
                                    [&](Node write) { return position(write) < before[list.thread]; });
    if (end == list.writes.begin()) continue;
    // Whatever comes before the last write that must come before the read cannot be seen by it.
    any = true;
    Node last = *(end - 1);
    std::span<const std::uint32_t> overwritten = clock(last);
    for (std::uint32_t t = 0; t < thread_count_; ++t) floors[t] = std::max(floors[t], overwritten[t]);
  }
  return any;
}

void CausalModel::possible_sources(const ReadRecord& read, std::vector<Node>& sources) const {
  sources.clear();
  std::vector<std::uint32_t> from;
  floors(read, from);
  auto consider = [&](Node write) {
    if (position(write) >= from[thread(write)]) sources.push_back(write);
  };
  if (read.has_value) {
    const auto& by_value = versions_[read.location].by_value;
    if (auto lists = by_value.find(read.value); lists != by_value.end()) {
      for (const ThreadWrites& list : lists->second) {
        for (Node write : list.writes) consider(write);
      }
    }
  }
  if (read.saw != kNoNode &&
      !(read.has_value && writes_[read.saw].has_value && writes_[read.saw].value == read.value)) {
    consider(read.saw);
  }
}

bool CausalModel::compute_clocks(BudgetWatch& watch) {
  clocks_.assign(std::size_t{nodes()} * thread_count_, 0);
  std::vector<std::uint32_t> needed(thread_count_), option(thread_count_), from;
  // What every source of a read needs, the read needs. Of one thread only the first possible source counts:
  // the others come after it.
  auto add_needed = [&](const ReadRecord& read, Node now, std::span<std::uint32_t> into) {
    bool overwritten = floors(read, from);
    if (start_can_give(read) && !overwritten) return;
    std::fill(needed.begin(), needed.end(), UINT32_MAX);
    auto consider = [&](Node write) {
      std::fill(option.begin(), option.end(), 0);
      if (write < now) {
        join_clock(clocks_, option, write);
      } else {
        // The trace shows it later, so only the earlier part of its thread is known to be needed by it.
        const std::vector<Node>& chain = chains_[thread(write)];
        auto known = std::lower_bound(chain.begin(), chain.end(), now);
        if (known != chain.begin()) join_clock(clocks_, option, *(known - 1));
        option[thread(write)] = position(write) + 1;
      }
      for (std::uint32_t t = 0; t < thread_count_; ++t) needed[t] = std::min(needed[t], option[t]);
    };
    if (read.saw != kNoNode) consider(read.saw);
    if (read.has_value) {
      const auto& by_value = versions_[read.location].by_value;
      if (auto lists = by_value.find(read.value); lists != by_value.end()) {
        for (const ThreadWrites& list : lists->second) {
          auto first = std::partition_point(list.writes.begin(), list.writes.end(),
                                            [&](Node write) { return position(write) < from[list.thread]; });
          if (first != list.writes.end()) consider(*first);
        }
      }
    }
    if (needed[0] == UINT32_MAX) return;
    for (std::uint32_t t = 0; t < thread_count_; ++t) {
      if (needed[t] <= into[t]) continue;
      into[t] = needed[t];
      if (Node last = chains_[t][needed[t] - 1]; last < now) join_clock(clocks_, into, last);
    }
  };
  for (Node node = 0; node < nodes(); ++node) {
    std::span<std::uint32_t> mine =
        std::span(clocks_).subspan(std::size_t{node} * thread_count_, thread_count_);
    for (Place place : places(node)) {
      if (place.position > 0) join_clock(clocks_, mine, chains_[place.thread][place.position - 1]);
    }
    for (Node earlier : hard_predecessors(node)) {
      join_clock(clocks_, mine, earlier);
      if (watch.over(thread_count_)) return false;
    }
    for (std::uint32_t read : committed_by(node)) add_needed(reads_[read], node, mine);
    std::uint64_t reads = committed_by(node).size();
    if (watch.over((1 + reads * std::uint64_t{thread_count_}) * thread_count_)) return false;
  }
  return true;
}

bool CausalModel::compute_observed_clocks(BudgetWatch& watch) {
  observed_clocks_.assign(std::size_t{nodes()} * thread_count_, 0);
  for (Node node = 0; node < nodes(); ++node) {
    std::span<std::uint32_t> mine =
        std::span(observed_clocks_).subspan(std::size_t{node} * thread_count_, thread_count_);
    for (Place place : places(node)) {
      if (place.position > 0) join_clock(observed_clocks_, mine, chains_[place.thread][place.position - 1]);
    }
    for (Node earlier : hard_predecessors(node)) {
      join_clock(observed_clocks_, mine, earlier);
      if (watch.over(thread_count_)) return false;
    }
    for (std::uint32_t read : committed_by(node)) {
      if (reads_[read].saw != kNoNode) join_clock(observed_clocks_, mine, reads_[read].saw);
    }
    if (watch.over((1 + committed_by(node).size()) * thread_count_)) return false;
  }
  return true;
}

}  // namespace deadheat::detect
