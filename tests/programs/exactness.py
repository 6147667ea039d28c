#!/usr/bin/env python3
"""Writes docs/exactness.md from the programs' own comments, so that the page cannot drift from what is tested.

    tests/programs/exactness.py            write it
    tests/programs/exactness.py --check    fail if it is not what would be written

The prose of each rule is in rules.md next to this file; what ThreadSanitizer does differently is in
tsan_measured.txt (written by run.py --compare-tsan) and why is in tsan_explained.txt.
"""

import re
import sys
from pathlib import Path

import labels

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PAGE = ROOT / "docs" / "exactness.md"
COMMAND = "tests/programs/exactness.py"


class DriftError(Exception):
    pass


def read_rules():
    """rules.md: an introduction, then '## rule' sections in the order of the page."""
    parts = re.split(r"^## (.*)$", (FOLDER / "rules.md").read_text(), flags=re.M)
    return parts[0].strip(), dict(zip((name.strip() for name in parts[1::2]), (p.strip() for p in parts[2::2])))


def read_lines(path):
    pairs = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            key, _, value = line.partition(": ")
            pairs.append((key, value))
    return pairs


def link(program):
    path = program.path.relative_to(ROOT)
    return f"[`{program.path.name}`](../{path})"


def cell(text):
    return text.replace("|", "\\|")


def rule_tables(programs, rules):
    lines = []
    used = {p.rule for p in programs}
    if used != set(rules):
        raise DriftError(f"rules.md and the programs name different rules: {sorted(used ^ set(rules))}")
    for rule, prose in rules.items():
        lines += [f"## {rule[0].upper() + rule[1:]}", "", prose, "", "| program | with the race | its twin without |",
                  "|---|---|---|"]
        members = [p for p in programs if p.rule == rule]
        twins = {p.path.name: p for p in programs if p.kind == "norace"}
        for program in (p for p in members if p.kind == "race"):
            twin = twins[program.path.name]
            lines.append(f"| `{program.path.name}`: [race](../{program.path.relative_to(ROOT)}), "
                         f"[norace](../{twin.path.relative_to(ROOT)}) | {cell(program.claim)} | {cell(twin.claim)} |")
        for program in (p for p in members if p.kind == "regress"):
            lines.append(f"| {link(program)} (regress) | {cell(program.claim)} | |")
        lines.append("")
    return lines


def tsan_table(programs):
    measured = {}
    for name, what in read_lines(FOLDER / "tsan_measured.txt"):
        measured.setdefault(name, []).append(what)
    explained = dict(read_lines(FOLDER / "tsan_explained.txt"))
    known = {p.name for p in programs}
    for name in list(measured) + list(explained):
        if name not in known:
            raise DriftError(f"{name}: named in a tsan_ file, but there is no such program")
    for name in measured:
        if name not in explained:
            raise DriftError(f"{name}: ThreadSanitizer differs, tsan_explained.txt does not say why")
    lines = ["## Where ThreadSanitizer says something else", "",
             f"The same programs, the same judgement, clang 19's `-fsanitize=thread`. It agrees with the labels of "
             f"{len(known) - len(measured)} programs and differs on {len(measured)}. "
             "`tests/programs/run.py --runs 5 --timeout 10 --opt=-O1 --compare-tsan tests/programs/tsan_measured.txt` measures it.",
             "", "| program | ThreadSanitizer | why |", "|---|---|---|"]
    for program in programs:
        if program.name in measured:
            lines.append(f"| `{program.name}` | {cell('; '.join(short(w) for w in measured[program.name]))} | "
                         f"{cell(explained[program.name])} |")
    return lines + [""]


def short(what):
    what = re.sub(r"expected (race .*), not found", r"misses \1", what)
    what = re.sub(r"found (race .*), not expected", r"reports \1", what)
    return what


def page():
    introduction, rules = read_rules()
    programs = labels.load_all(FOLDER)
    counts = {kind: sum(p.kind == kind for p in programs) for kind in labels.KINDS}
    lines = [f"<!-- Written by {COMMAND}; do not edit. Prose: tests/programs/rules.md -->", "", introduction, "",
             f"{len(programs)} programs: {counts['race']} with races, {counts['norace']} twins without, "
             f"{counts['regress']} left behind by fixed mistakes.", ""]
    lines += rule_tables(programs, rules) + tsan_table(programs)
    return "\n".join(lines).rstrip() + "\n"


def main():
    try:
        text = page()
    except (labels.LabelError, DriftError, OSError) as error:
        print(f"exactness.py: {error}", file=sys.stderr)
        return 1
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"docs/exactness.md is not current; run {COMMAND}", file=sys.stderr)
            return 1
        print("docs/exactness.md is current")
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
