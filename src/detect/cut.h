// How far each thread must run, and how far it may, before two accesses can race.
//
// The cheap half of deciding a candidate pair: no order is chosen here. From the clocks of the two accesses
// (causal_model.h) follows how much of each thread must have been executed before them; from the two threads'
// standing still before the accesses follows where every other thread must stop at the latest. Then locks:
// two threads cannot be inside sections of one lock, so if only one of them can still leave it, it must; and
// what leaving needs must be executed too. If nothing fits any more, the pair is no race, and no order needs
// to be looked for.
//
// This is the closure of synchronisation-preserving prediction (U. Mathur, A. Pavlogiannis, M. Viswanathan:
// Optimal prediction of synchronization-preserving races) without its assumption that critical sections keep
// their order. Cost: threads x locks held, times the times that a thread is moved on.
#pragma once

#include <cstdint>
#include <vector>

#include "detect/causal_model.h"

namespace deadheat::detect {

struct Cut {
  std::vector<std::uint32_t> least;  // nodes of each chain that are executed in every witness
  std::vector<std::uint32_t> most;   // nodes of each chain that are executed in some witness, at most

  bool contains(const CausalModel& model, Node node) const {
    return model.position(node) < least[model.thread(node)];
  }
};

// False if `a` and `b` cannot race (with `reads` as given). REQUIRES: accesses of two threads.
bool find_cut(const CausalModel& model, Node a, Node b, Cut& cut, Reads reads = Reads::kAnySource);

// Raises `cut.least` to contain `node` and all it needs; false if it cannot.
bool raise_to(const CausalModel& model, Node node, Cut& cut, Reads reads = Reads::kAnySource);

// Applies the rule about locks until nothing changes; false if there is no way left.
bool close_locks(const CausalModel& model, Cut& cut, Reads reads = Reads::kAnySource);

}  // namespace deadheat::detect
