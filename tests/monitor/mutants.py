#!/usr/bin/env python3
"""The monitor lane's static analysis, broken one rule at a time: some unit test must notice each time.

    tests/monitor/mutants.py [--build-dir build] [NUMBER...]

Every mutant is one replacement in one file of src/instrument. The file is compiled as the build compiles it, linked with
the other objects of the unit tests, and the tests of the monitor lane run. Prints a table; fails if a mutant survives
or no longer applies. Needs a finished build; changes nothing in it.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FILTER = "Regions*:Paper*:Placement*:LoopCopies*:Versions*"

REGIONS, EFFECTS, PLACEMENT, LOOPS, VERSIONS, EMIT, PASS = (
    "interference_free_regions.cc", "monitor_effects.cc", "monitor_placement.cc", "monitor_loops.cc", "monitor_versions.cc",
    "monitor_instrumenter.cc", "monitor_pass.cc")

# (file, what is broken, the code, what it becomes)
MUTANTS = [
    # Figure 6, row by row, and what differs from it.
    (REGIONS, "load: not in RW", "      Certain& here = set[access.location];\n      here.access = access.site;",
     "      if (access.site->kind != AccessKind::kWrite) continue;\n      Certain& here = set[access.location];\n"
     "      here.access = access.site;"),
    (REGIONS, "store: not in W", "      here.is_written = true;\n      here.write = access.site;", ""),
    (REGIONS, "load: in W", "      if (access.site->kind != AccessKind::kWrite) continue;\n      here.is_written = true;",
     "      here.is_written = true;"),
    (REGIONS, "acquire: ends nothing", "if (effects_.effects_of(instruction).ends_certainty()) {\n      set.clear();",
     "if (false) {\n      set.clear();"),
    (REGIONS, "merge: union for the intersection", "    if (found == b.end()) continue;\n    const Certain& in_b",
     "    if (found == b.end()) {\n      both.emplace(location, in_a);\n      continue;\n    }\n    const Certain& in_b"),
    (REGIONS, "merge: written on one path is written", "in_a.is_written && in_b.is_written", "in_a.is_written || in_b.is_written"),
    (REGIONS, "merge: names one of two accesses", "in_a.access == in_b.access ? in_a.access : nullptr", "in_a.access"),
    (REGIONS, "merge: names one of two writes", "certain.is_written && in_a.write == in_b.write ? in_a.write : nullptr",
     "certain.is_written ? in_a.write : nullptr"),
    (REGIONS, "an address is known above its definition", "  for (LocationId location : defined_by(instruction)) set.erase(location);\n  if (!set.empty()) {",
     "  if (!set.empty()) {"),
    (REGIONS, "an address is known above its phi", "      for (LocationId location : defined_by(phi)) there.erase(location);", "      (void)phi;"),
    (REGIONS, "loops that need not end do", "if (!isMustProgress(&loop) || loop.hasNoExitBlocks()) return false;", ""),
    (REGIONS, "loops that wait for others end", "if (instruction.isAtomic() || instruction.isVolatile()) return false;", ""),
    (REGIONS, "loops with unknown calls end", "if (effects.acquires || effects.releases || effects.may_not_continue) return false;", ""),
    (REGIONS, "no edge is endless", "if (!is_back_edge || !ending_heads.contains(next)) endless_edges_", "if (false) endless_edges_"),
    (REGIONS, "every edge back is endless", "if (!is_back_edge || !ending_heads.contains(next))", "if (true)"),
    (REGIONS, "a variable's life does not end", "getUnderlyingObject(locations_[entry.first].base) == variable", "false && variable"),
    (REGIONS, "callees access nothing", "callees_[&call].push_back({location_id(bytes), certain});", ""),
    (REGIONS, "callees' arguments without their offset", "bytes.offset += offset.getSExtValue();", ""),
    (REGIONS, "callees' accesses of private memory count", "if (isa<AllocaInst>(bytes.base) || isa<ConstantPointerNull>(bytes.base)) continue;", ""),
    (EMIT, "a release that keeps something forgets it", " && !placement.keeps.count(instruction)", ""),
    (EMIT, "one question for a release does not say what is ahead", """told_of_both.contains(instruction) ? "__dh_monitor_release_ahead" : "__dh_monitor_release\"""",
     '"__dh_monitor_release"'),
    # What instructions do.
    (EFFECTS, "unlock does not release", "effects.releases = effects.only_releases = true;", ""),
    (EFFECTS, "unlock may acquire", "    effects.releases = effects.only_releases = true;",
     "    effects.releases = effects.only_releases = effects.acquires = true;"),
    (EFFECTS, "lock does not acquire", "effects.acquires = effects.may_not_continue = true;\n    if (is_heard", "if (is_heard"),
    (EFFECTS, "unknown calls only release", "effects.acquires = effects.releases = effects.may_not_continue = true;\n  if (call",
     "effects.releases = true;\n  if (call"),
    (EFFECTS, "unknown calls do not release", "effects.acquires = effects.releases = effects.may_not_continue = true;\n  if (call",
     "effects.acquires = effects.may_not_continue = true;\n  if (call"),
    (EFFECTS, "assembly is not told of", "    effects.telling = Telling::kRelease;\n    return effects;\n  }\n  if (callee && callee->isIntrinsic",
     "    return effects;\n  }\n  if (callee && callee->isIntrinsic"),
    (EFFECTS, "unknown calls are not asked about", "                        : Telling::kAsks;", "                        : Telling::kNothing;"),
    (EFFECTS, "every library function is harmless", "is_harmless_library_function(callee->getName())", "callee->hasName()"),
    (EFFECTS, "no library function is harmless", "is_harmless_library_function(callee->getName())", "false"),
    (EFFECTS, "callees never acquire", "effects.acquires = found->second.acquires ||", "effects.acquires ="),
    (EFFECTS, "callees' releases leave callers certain", "found->second.acquires || found->second.releases;", "found->second.acquires;"),
    (EFFECTS, "callees never release", "effects.releases = found->second.releases;", "effects.releases = false;"),
    (EFFECTS, "callees always return", "effects.may_not_continue = !call.doesNotThrow() || !call.hasFnAttr(Attribute::WillReturn);",
     "effects.may_not_continue = false;"),
    (EFFECTS, "bodies that are not instrumented tell", "if (effects.releases && !found->second.tells)", "if (false)"),
    (EFFECTS, "inline functions are not asked about", "else if (!effects.releases || callee->isDefinitionExact())", "else"),
    (EFFECTS, "atomics are not told of", "if (plain.releases) effects.telling = Telling::kRelease;", ""),
    # Placement.
    (PLACEMENT, "nothing starts at the beginning of blocks", "start(at_start_.find(&block)->second, active, &started);", ""),
    (PLACEMENT, "nothing starts after calls and releases", "after_[&instruction] = starts_for(after);\n", ""),
    (PLACEMENT, "nothing starts at definitions", "if (!fresh.empty()) after_[&instruction] = std::move(fresh);", ""),
    (PLACEMENT, "releases stop nothing", "        active.clear();\n", ""),
    (PLACEMENT, "nothing is kept", "if (!kept.empty()) kept_[&instruction] = std::move(kept);", ""),
    (PLACEMENT, "weak covers strong", "if (found->second || !is_strong(start)) return true;", "return true;"),
    (PLACEMENT, "narrow covers wide", "regions_.locations()[entry.first].includes(wanted)", "wanted.includes(regions_.locations()[entry.first])"),
    (PLACEMENT, "active on one path is active", "active = active ? intersection(*active, found->second) : found->second;", "active = found->second;"),
    (PLACEMENT, "long loops do not look again", "block.isEntryBlock() || regions_.heads_long_loop(block)", "block.isEntryBlock()"),
    (PLACEMENT, "starts are put off beyond calls", "return !call || (isa<IntrinsicInst>(call) && !isa<MemIntrinsic>(call));", "return true;"),
    (PLACEMENT, "starts are put off beyond atomics", "instruction.isTerminator() || instruction.isAtomic()", "instruction.isTerminator()"),
    (PLACEMENT, "nothing is ahead", "ahead_.insert(&instruction);", "(void)0;"),
    (PLACEMENT, "everything is prompt", "start.prompt = is_prompt(*place, *start.site);", "start.prompt = true;"),
    (PLACEMENT, "nothing is prompt", "start.prompt = is_prompt(*place, *start.site);", "start.prompt = false;"),
    # Copies.
    (LOOPS, "loops that call are copied", "(!isa<IntrinsicInst>(call) || call->cannotDuplicate() || call->isConvergent())", "call->cannotDuplicate()"),
    (LOOPS, "addresses of a loop are used outside", "return has_starts && !is_used_outside(loop);", "return has_starts;"),
    (VERSIONS, "the plain version does not tell", "  add_plain(placement.releases);\n", ""),
    (VERSIONS, "the plain version does not ask", "  add_plain(placement.asks);\n", ""),
    (VERSIONS, "the plain version does not ask whose", "  add_plain(placement.whose);\n", ""),
    (VERSIONS, "the plain version does not say what is ahead", "  add_plain(placement.aheads);\n", ""),
    (VERSIONS, "who called something leaves without asking", "if (!calls && heads_.empty()) quiet_exits_", "quiet_exits_"),
    (VERSIONS, "values do not cross", "for (Instruction* value : crossing_) merge(", "for (Instruction* value : crossing_) if (false) merge("),
    (VERSIONS, "versions never change", "for (const Head& head : heads_) change_on_way_back(head, gate);", ""),
    (VERSIONS, "every nest changes", "if (!calls && (loop.getParentLoop() || calls_itself(function_)) && !is_deep(loop)) return false;", ""),
    (VERSIONS, "versions do not change where threads are made", "heads_.push_back({rest, {block->getTerminator()}});", "(void)rest;"),
    (EMIT, "strong monitors are weak", "if (kind == AccessKind::kWrite) bits |= kDhMonitorStrong;", ""),
    (EMIT, "who is called in place of another does not ask", "(direct && direct->isMustTailCall())", "false"),
    (EMIT, "no asking on return", "    mark_returns(function, versions);\n", ""),
    (EMIT, "the plain function does not ask on return",
     "    if (versions.plain_function()) mark_returns(*versions.plain_function(), versions);\n", ""),
    (PASS, "code without unwind tables keeps no frame pointers", "if (!function.hasUWTable()) function.addFnAttr", "if (false) function.addFnAttr"),
    (PASS, "what a loop computes has no phi behind it", "        close_loops(function);\n", "        (void)close_loops;\n"),
]


class Linker:
    def __init__(self, build):
        self.build = build
        with open(build / "compile_commands.json") as file:
            self.commands = {Path(entry["file"]).name: entry for entry in json.load(file)
                             if "/src/instrument/" in entry["file"] and "deadheat_instrument.dir" in entry["command"]}
        text = subprocess.run(["ninja", "-C", build, "-t", "commands", "deadheat_instrument_tests"], check=True,
                              capture_output=True, text=True).stdout.splitlines()[-1]
        self.link = shlex.split(re.sub(r"^: && ", "", text).split(" && ")[0])

    def run(self, file, text, folder):
        """Did the tests notice? A compiler's error is the mutant's own fault."""
        source = folder / file
        source.write_text(text)
        entry = self.commands[file]
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(folder / "mutant.o")
        words = [str(source) if word == entry["file"] else word for word in words] + ["-O1", "-w"]
        done = subprocess.run(words, cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[:1]
        # The archive's own object of that name is then not needed: every symbol of it is defined already.
        link = list(self.link)
        link[link.index("-o") + 1] = str(folder / "tests")
        link.insert(link.index("-o"), str(folder / "mutant.o"))
        subprocess.run(link, cwd=self.build, check=True, capture_output=True, text=True)
        try:
            ran = subprocess.run([folder / "tests", f"--gtest_filter={FILTER}"], capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return True, ["does not end"]
        failed = sorted(set(re.findall(r"^\[  FAILED  \] (\S+\.\S+)(?: \(|$)", ran.stdout, re.M)))
        return ran.returncode != 0, failed or [f"ends with {ran.returncode}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    linker = Linker(options.build_dir.resolve())
    survived = 0
    chosen = options.numbers or range(1, len(MUTANTS) + 1)
    print("| # | file | what is broken | noticed by |\n|---|---|---|---|")
    for number in chosen:
        file, what, old, new = MUTANTS[number - 1]
        text = (ROOT / "src" / "instrument" / file).read_text()
        count = text.count(old)
        if count != 1:
            print(f"| {number} | {file} | {what} | DOES NOT APPLY: found {count} times |", flush=True)
            survived += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            noticed, by = linker.run(file, text.replace(old, new), Path(folder))
        if not noticed:
            survived += 1
        verdict = "DOES NOT COMPILE: " + " ".join(by) if noticed is None else "NOBODY" if not noticed else (
            by[0] + (f" and {len(by) - 1} more" if len(by) > 1 else ""))
        print(f"| {number} | {file} | {what} | {verdict} |", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} noticed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
