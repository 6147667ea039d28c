// An access that an earlier check of the same thread covers on every path is not checked again.
//
// "Covers": the same bytes or more (several earlier checks together will do), the same or a stronger kind (a
// write covers a read), and nothing between the two that releases. Exact for what the watch lane promises
// (every racy location is reported): let c be the earlier access, a the covered one, b another thread's
// access that races with a. If b happened before c, it happened before a. If c happened before b, then this
// thread released something after c that reached b; nothing was released between c and a, so it was released
// after a, and a happened before b as well. Both contradict the race of a and b; so b races with c. Acquires
// in between change nothing: they can only order b before a, and then b does not race with a.
//
// It is a forward data-flow problem, "available checks": a fact is a byte range of a base with a kind; an
// access makes its fact, whatever releases or clears shadow kills all; at a join only what holds on every way
// in holds. That is more than dominance: two branches that both check are enough, and a check before a loop
// serves inside it. A fact made by an access that is itself removed is as good as any: it was removed because
// an earlier check covers it, and covering is transitive.
//
// A base is a value of the program and is computed anew in every iteration of a loop that computes it; no
// stale fact can survive that, because the way into the loop does not carry it.
//
// Cost: blocks x facts / 64 words, a few rounds; functions beyond kMaxWork are left alone. Tested by
// dominated_accesses_test.cc.
#pragma once

#include "instrument/function_view.h"
#include "instrument/statistics.h"

namespace deadheat::instrument {

void remove_dominated_accesses(const FunctionView& view, Statistics& statistics);

}  // namespace deadheat::instrument
