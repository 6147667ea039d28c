#include "detect/order_search.h"

#include <z3++.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "detect/cut.h"
#include "detect/schedule.h"

namespace deadheat::detect {
namespace {

constexpr std::size_t kWrongsAtOnce = 64;
z3::solver make_solver(z3::context& context) {
  z3::solver solver(context, z3::solver::simple());
  z3::params params(context);
  params.set("auto_config", false);
  params.set("smt.arith.solver", 1u);     // difference logic by Bellman and Ford
  params.set("smt.phase_selection", 0u);  // guess false: see add_lock()
  solver.set(params);
  return solver;
}

}  // namespace

// A context of its own for each problem, so that the answer does not depend on what was solved before it.
struct OrderSearch::Solver {
  explicit Solver(const CausalModel& model) : scheduler(model) {}
  Scheduler scheduler;
  std::mutex mutex;
  z3::context* running = nullptr;  // guarded by mutex
};

// Makes a context known to interrupt() while it lives.
class OrderSearch::Registered {
 public:
  Registered(Solver& solver, z3::context& context) : solver_(solver) {
    std::lock_guard lock(solver_.mutex);
    solver_.running = &context;
  }
  ~Registered() {
    std::lock_guard lock(solver_.mutex);
    solver_.running = nullptr;
  }

 private:
  Solver& solver_;
};

// The growing problem of one pair.
class OrderSearch::Problem {
 public:
  Problem(const CausalModel& model, z3::context& context, SearchCounters& counters, const Cut& cut, Node a,
          Node b, Reads reads)
      : model_(model),
        context_(context),
        counters_(counters),
        cut_(cut),
        a_(a),
        b_(b),
        reads_(reads),
        solver_(make_solver(context)) {
    chains_.resize(model.threads());
  }

  // Adds what forbids this wrong; false if it was there already.
  bool forbid(const Wrong& wrong, const std::vector<std::uint32_t>& executed) {
    std::uint64_t before = counters_.constraints;
    if (wrong.kind == Wrong::kLock) {
      add_lock(wrong.first, wrong.second);
      // A section that stays open must be the last one of its lock: say so to all threads at once.
      for (std::uint32_t open : {wrong.first, wrong.second}) {
        const CriticalSection& section = model_.sections()[open];
        if (section.release != kNoNode && state(section.release) != State::kNot) continue;
        for (std::uint32_t t = 0; t < model_.threads(); ++t) {
          if (t == section.thread) continue;
          auto sections = model_.sections_of(section.lock, t);
          auto end = std::partition_point(sections.begin(), sections.end(), [&](std::uint32_t other) {
            return model_.position(model_.sections()[other].acquire) < executed[t];
          });
          if (end != sections.begin()) add_lock(open, *(end - 1));
        }
      }
    } else {
      require(wrong.first);
      if (wrong.second != kNoNode) keep_away(wrong.first, wrong.second);
      settle();
    }
    return counters_.constraints != before;
  }

  Answer solve(const SearchLimits& limits) {
    for (;;) {
      ++counters_.solver_calls;
      z3::params params(context_);
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limits.deadline -
                                                                        std::chrono::steady_clock::now());
      if (left.count() <= 0) return Answer::kUndecided;
      params.set("timeout", static_cast<unsigned>(std::min<long long>(left.count(), 1'000'000'000)));
      params.set("max_memory",
                 static_cast<unsigned>(std::min<std::uint64_t>(limits.memory_bytes >> 20, 1u << 30)));
      solver_.set(params);
      z3::expr_vector assumptions(context_);
      for (auto& [read, required] : required_) {
        if (required.more) assumptions.push_back(!*required.more);
      }
      switch (solver_.check(assumptions)) {
        case z3::sat:
          return Answer::kRace;
        case z3::unknown:
          return Answer::kUndecided;
        case z3::unsat:
          break;
      }
      // Was it for want of sources that were not mentioned yet?
      std::unordered_set<unsigned> core;
      z3::expr_vector literals = solver_.unsat_core();
      for (unsigned i = 0; i < literals.size(); ++i) core.insert(literals[static_cast<int>(i)].id());
      std::vector<std::uint32_t> hungry;
      for (auto& [read, required] : required_) {
        if (required.more && core.contains((!*required.more).id())) hungry.push_back(read);
      }
      if (hungry.empty()) return Answer::kNoRace;
      for (std::uint32_t read : hungry) more_sources(read);
      settle();
    }
  }

  // After solve() said kRace: how much is executed, in what order, and which reads must see what they saw.
  void read_solution(std::vector<std::uint32_t>& executed, std::vector<std::pair<Node, Node>>& edges,
                     std::vector<std::uint32_t>& needed) {
    z3::model solution = solver_.get_model();
    for (auto& [node, variables] : variables_) {
      variables.place = solution.eval(variables.order, true).get_numeral_int64();
    }
    Cut cut = cut_;
    for (auto& [node, variables] : variables_) {
      if (variables.executed && solution.eval(*variables.executed, true).is_true())
        raise_to(model_, node, cut, reads_);
    }
    executed = cut.least;
    edges.clear();
    auto is_executed = [&](Node node) {
      return node != kNoNode && model_.position(node) < executed[model_.thread(node)];
    };
    for (auto [one, two] : locks_) {
      const CriticalSection& first = model_.sections()[one];
      const CriticalSection& second = model_.sections()[two];
      if (!is_executed(first.acquire) || !is_executed(second.acquire)) continue;
      if (is_executed(first.release) && comes_first(first.release, second.acquire)) {
        edges.emplace_back(first.release, second.acquire);
      } else if (is_executed(second.release)) {
        edges.emplace_back(second.release, first.acquire);
      }
    }
    for (auto& [read, required] : required_) {
      Node node = model_.reads()[read].node;
      if (!is_executed(node)) continue;
      if (!solution.eval(required.matters, true).is_true()) continue;
      needed.push_back(read);
      for (const Source& source : required.sources) {
        if (!solution.eval(source.chosen, true).is_true()) continue;
        if (source.write != kNoNode) edges.emplace_back(source.write, node);
        for (Node other : required.kept_away) {
          if (other == source.write || !is_executed(other)) continue;
          if (source.write != kNoNode && comes_first(other, source.write)) {
            edges.emplace_back(other, source.write);
          } else if (other != node) {
            edges.emplace_back(node, other);
          }
        }
      }
    }
  }

 private:
  enum class State { kNot, kSure, kOpen };
  struct Variables {
    z3::expr order;
    std::optional<z3::expr> executed;  // where it is not known
    std::int64_t place = 0;
  };
  struct Source {
    Node write;  // kNoNode: what was there from the start
    z3::expr chosen;
  };
  struct Required {
    z3::expr matters;
    std::optional<z3::expr> more;  // "there are sources that were not mentioned yet"
    std::vector<Source> sources;
    std::vector<Node> unmentioned;  // the next ones last
    std::vector<Node> kept_away;
  };

  State state(Node node) const {
    std::uint32_t thread = model_.thread(node), position = model_.position(node);
    if (position < cut_.least[thread]) return State::kSure;
    return position < cut_.most[thread] ? State::kOpen : State::kNot;
  }

  void assert_(const z3::expr& constraint) {
    ++counters_.constraints;
    solver_.add(constraint);
  }

  z3::expr fresh(const char* prefix) {
    return context_.bool_const((prefix + std::to_string(names_++)).c_str());
  }

  Variables& variables(Node node) {
    auto found = variables_.find(node);
    if (found != variables_.end()) return found->second;
    Variables created{context_.int_const(("o" + std::to_string(node)).c_str()), std::nullopt};
    if (state(node) == State::kOpen)
      created.executed = context_.bool_const(("x" + std::to_string(node)).c_str());
    Variables& mine = variables_.emplace(node, std::move(created)).first->second;
    // The nearest known nodes of each chain on either side; the others follow along the chains.
    std::span<const std::uint32_t> clock = model_.clock(node, reads_);
    for (std::uint32_t t = 0; t < model_.threads(); ++t) {
      auto& chain = chains_[t];
      auto before = std::partition_point(chain.begin(), chain.end(),
                                         [&](Node other) { return model_.position(other) < clock[t]; });
      if (before != chain.begin()) must(*(before - 1), node);
      auto after = std::partition_point(
          chain.begin(), chain.end(), [&](Node other) { return !model_.must_precede(node, other, reads_); });
      if (after != chain.end()) must(node, *after);
    }
    auto& chain = chains_[model_.thread(node)];
    chain.insert(std::lower_bound(chain.begin(), chain.end(), node), node);
    return mine;
  }

  void must(Node first, Node second) {
    Variables& one = variables_.at(first);
    Variables& two = variables_.at(second);
    solver_.add(one.order < two.order);
    if (one.executed && two.executed) solver_.add(z3::implies(*two.executed, *one.executed));
  }

  z3::expr executed(Node node) {
    switch (state(node)) {
      case State::kNot:
        return context_.bool_val(false);
      case State::kSure:
        return context_.bool_val(true);
      case State::kOpen:
        break;
    }
    return *variables(node).executed;
  }

  z3::expr before(Node first, Node second) {
    if (model_.must_precede(first, second, reads_)) return context_.bool_val(true);
    if (first == second || model_.must_precede(second, first, reads_)) return context_.bool_val(false);
    variables(first);
    variables(second);
    return variables_.at(first).order < variables_.at(second).order;
  }

  bool comes_first(Node first, Node second) const {
    if (model_.must_precede(first, second, reads_)) return true;
    if (first == second || model_.must_precede(second, first, reads_)) return false;
    return variables_.at(first).place < variables_.at(second).place;
  }

  void add_lock(std::uint32_t one, std::uint32_t two) {
    const CriticalSection* first = &model_.sections()[one];
    const CriticalSection* second = &model_.sections()[two];
    if (first->thread == second->thread) return;
    if (first->acquire > second->acquire) std::swap(first, second), std::swap(one, two);
    if (!locks_known_.insert(std::uint64_t{one} << 32 | two).second) return;
    locks_.emplace_back(one, two);
    auto leaves = [&](const CriticalSection& left, const CriticalSection& entered) {
      if (left.release == kNoNode || state(left.release) == State::kNot) return context_.bool_val(false);
      return executed(left.release) && before(left.release, entered.acquire);
    };
    // Named so that the solver's first guess, false, keeps the order of the trace.
    z3::expr reversed = fresh("r");
    assert_(z3::implies(reversed, leaves(*second, *first)));
    assert_(!executed(first->acquire) || !executed(second->acquire) || reversed || leaves(*first, *second));
  }

  // From now on `read`, if it matters, has a source.
  Required& require(std::uint32_t read) {
    auto found = required_.find(read);
    if (found != required_.end()) return found->second;
    Required& mine = required_.emplace(read, Required{fresh("m")}).first->second;
    ++counters_.constraints;
    const ReadRecord& record = model_.reads()[read];
    for (Node committer : model_.committers(read)) {
      if (committer == a_ || committer == b_) {
        assert_(mine.matters);
      } else if (state(committer) != State::kNot) {
        assert_(!executed(committer) || mine.matters);
      }
    }
    if (reads_ == Reads::kSameWrite) {
      if (record.saw != kNoNode) mine.unmentioned.push_back(record.saw);
    } else {
      model_.possible_sources(record, mine.unmentioned);
    }
    std::erase_if(mine.unmentioned, [&](Node write) {
      return state(write) == State::kNot || model_.must_precede(record.node, write, reads_);
    });
    auto distance = [&](Node write) {
      return write < record.node ? record.node - write : write - record.node;
    };
    std::sort(mine.unmentioned.begin(), mine.unmentioned.end(),
              [&](Node one, Node two) { return distance(one) > distance(two); });
    // What it really saw is the best guess.
    auto saw = std::find(mine.unmentioned.begin(), mine.unmentioned.end(), record.saw);
    if (saw != mine.unmentioned.end()) std::rotate(saw, saw + 1, mine.unmentioned.end());
    if (model_.start_can_give(record, reads_)) mine.sources.push_back({kNoNode, fresh("s")});
    unsettled_.push_back(read);
    return mine;
  }

  // Mentions sources of all reads that have been required since the last call.
  void settle() {
    while (!unsettled_.empty()) {
      std::uint32_t read = unsettled_.back();
      unsettled_.pop_back();
      more_sources(read);
    }
  }

  void more_sources(std::uint32_t read) {
    Required* mine = &required_.at(read);
    Node node = model_.reads()[read].node;
    // One, and then as many again: a solver with few choices is quick, but must not be asked thousands of
    // times.
    std::size_t count = std::max<std::size_t>(1, mine->sources.size());
    for (std::size_t i = 0; i < count && !mine->unmentioned.empty(); ++i) {
      Node write = mine->unmentioned.back();
      mine->unmentioned.pop_back();
      z3::expr chosen = fresh("s");
      mine->sources.push_back({write, chosen});
      assert_(z3::implies(chosen, executed(write) && before(write, node)));
      const WriteRecord& record = model_.write(write);
      const auto& reads = model_.reads_of_writer(write);
      for (std::uint32_t k = record.unsettled_begin; k < record.unsettled_end; ++k) {
        z3::expr matters = require(reads[k]).matters;
        assert_(z3::implies(chosen, matters));
      }
      mine = &required_.at(read);
      for (Node other : mine->kept_away) keep_away_from(mine->sources.back(), node, other);
    }
    z3::expr_vector choices(context_);
    choices.push_back(!mine->matters);
    for (const Source& source : mine->sources) choices.push_back(source.chosen);
    mine->more.reset();
    if (!mine->unmentioned.empty()) {
      mine->more = fresh("more");
      choices.push_back(*mine->more);
    }
    assert_(z3::mk_or(choices));
  }

  // `other` must not come between `read` and its source.
  void keep_away(std::uint32_t read, Node other) {
    Required& mine = required_.at(read);
    Node node = model_.reads()[read].node;
    if (other == node || state(other) == State::kNot || model_.must_precede(node, other, reads_)) return;
    if (std::find(mine.kept_away.begin(), mine.kept_away.end(), other) != mine.kept_away.end()) return;
    mine.kept_away.push_back(other);
    for (const Source& source : mine.sources) keep_away_from(source, node, other);
  }

  void keep_away_from(const Source& source, Node reader, Node other) {
    if (source.write == other) return;
    z3::expr away = before(reader, other);
    if (source.write != kNoNode) away = before(other, source.write) || away;
    assert_(!source.chosen || !executed(other) || away);
  }

  const CausalModel& model_;
  z3::context& context_;
  SearchCounters& counters_;
  const Cut& cut_;
  const Node a_, b_;
  const Reads reads_;
  z3::solver solver_;
  std::unordered_map<Node, Variables> variables_;
  std::vector<std::vector<Node>> chains_;  // nodes with variables, by thread
  std::vector<std::pair<std::uint32_t, std::uint32_t>> locks_;
  std::unordered_set<std::uint64_t> locks_known_;
  std::unordered_map<std::uint32_t, Required> required_;
  std::vector<std::uint32_t> unsettled_;
  std::uint64_t names_ = 0;
};

OrderSearch::OrderSearch(const CausalModel& model)
    : model_(model), solver_(std::make_unique<Solver>(model)) {}
OrderSearch::~OrderSearch() = default;

void OrderSearch::interrupt() {
  std::lock_guard lock(solver_->mutex);
  if (solver_->running != nullptr) solver_->running->interrupt();
}

Decision OrderSearch::decide(Node a, Node b, const SearchLimits& limits) {
  Cut cut;
  if (!find_cut(model_, a, b, cut)) {
    ++counters_.refuted_by_cut;
    return {Answer::kNoRace, {}};
  }
  std::vector<std::uint32_t> pending;  // reads that control depended on when it came to the two accesses
  for (Node access : {a, b}) {
    for (std::uint32_t read : model_.committed_by(access)) pending.push_back(read);
  }
  Cut same_write;
  bool may_be_easy = find_cut(model_, a, b, same_write, Reads::kSameWrite);
  if (may_be_easy) {
    // If every read keeps the write it saw, only locks can be in the way of the trace's own order.
    std::vector<Node> schedule = solver_->scheduler.schedule(same_write.least, {});
    if (solver_->scheduler.look_through(schedule, pending, 1).empty()) {
      ++counters_.shown_by_trace_order;
      return {Answer::kRace, std::move(schedule)};
    }
  }
  try {
    z3::context context;
    Registered registered(*solver_, context);
    ++counters_.solved;
    if (!model_.has_values()) return solve(a, b, same_write, Reads::kSameWrite, pending, context, limits);
    // Again the easier question first; only its "yes" counts.
    if (may_be_easy) {
      SearchLimits half = limits;
      auto now = std::chrono::steady_clock::now();
      if (half.deadline > now) half.deadline = now + (half.deadline - now) / 2;
      Decision decision = solve(a, b, same_write, Reads::kSameWrite, pending, context, half);
      if (decision.answer == Answer::kRace) return decision;
    }
    return solve(a, b, cut, Reads::kAnySource, pending, context, limits);
  } catch (const z3::exception&) {
    return {};  // out of memory, or interrupted at an awkward moment
  }
}

Decision OrderSearch::solve(Node a, Node b, const Cut& cut, Reads reads,
                            const std::vector<std::uint32_t>& pending, z3::context& context,
                            const SearchLimits& limits) {
  Problem problem(model_, context, counters_, cut, a, b, reads);
  std::vector<std::uint32_t> executed = cut.least;
  std::vector<std::pair<Node, Node>> edges;
  std::vector<std::uint32_t> needed = pending;
  for (;;) {
    std::vector<Node> schedule = solver_->scheduler.schedule(executed, edges);
    std::vector<Wrong> wrongs = solver_->scheduler.look_through(schedule, needed, kWrongsAtOnce);
    if (wrongs.empty()) return {Answer::kRace, std::move(schedule)};
    if (std::chrono::steady_clock::now() >= limits.deadline ||
        (limits.stop != nullptr && limits.stop->load(std::memory_order_relaxed))) {
      return {};
    }
    bool is_new = false;
    for (const Wrong& wrong : wrongs) is_new |= problem.forbid(wrong, executed);
    if (!is_new) {
      ++counters_.stuck;
      return {};
    }
    Answer answer = problem.solve(limits);
    if (answer != Answer::kRace) return {answer, {}};
    needed = pending;
    problem.read_solution(executed, edges, needed);
  }
}

}  // namespace deadheat::detect
