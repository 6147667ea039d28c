"""What a labelled program says about itself, in its comments.

    // rule: bytes                                  which rule of docs/exactness.md it tests
    // claim: an unaligned access ... races         what it shows, one line
    // flags: -std=c++20                            added when compiling
    // args: 3 4                                    given when running
    // suppressions: race:some_function             one suppression
    // expect: race write@a read@b                  one finding that must be there: operations at marked lines
    // expect: nothing                              no finding
    // allow: race write@c read@d                   one that may be there

Lines are marked by a comment at their end: `x = 1;  // @a`. Several lines may have one mark, and a line several.
Operations are those of the JSON report, or `any`. A finding that matches no expectation is an error, and so is an
expectation that no finding matches.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

OPERATIONS = {"read", "write", "atomic-read", "atomic-write", "free", "any"}
KINDS = ("race", "norace", "regress")


class LabelError(Exception):
    pass


@dataclass(frozen=True)
class Pair:
    """Two (operation, mark) sides, in no order."""

    sides: tuple

    def __str__(self):
        return "race " + " ".join(f"{operation}@{mark}" for operation, mark in self.sides)


@dataclass
class Program:
    path: Path
    kind: str
    rule: str = ""
    claim: str = ""
    flags: list = field(default_factory=list)
    args: list = field(default_factory=list)
    suppressions: list = field(default_factory=list)
    expect: list = field(default_factory=list)
    allow: list = field(default_factory=list)
    marks: dict = field(default_factory=dict)  # mark -> set of line numbers

    @property
    def name(self):
        return f"{self.kind}/{self.path.name}"

    @property
    def is_cxx(self):
        return self.path.suffix == ".cc"

    def side_matches(self, side, access):
        operation, mark = side
        found_operation, found_line = access
        return found_line in self.marks[mark] and operation in ("any", found_operation)

    def pair_matches(self, pair, accesses):
        (a, b), (x, y) = pair.sides, accesses
        match = self.side_matches
        return (match(a, x) and match(b, y)) or (match(a, y) and match(b, x))

    def judge(self, findings):
        """Compares findings, each a pair of (operation, line), with the expectations: a list of complaints."""
        complaints = []
        for pair in self.expect:
            if not any(self.pair_matches(pair, finding) for finding in findings):
                complaints.append(f"expected {pair}, not found")
        for finding in findings:
            if not any(self.pair_matches(pair, finding) for pair in self.expect + self.allow):
                shown = " ".join(f"{operation}@line {line}" for operation, line in finding)
                complaints.append(f"found race {shown}, not expected")
        return complaints


def parse_pair(text, where):
    words = text.split()
    if len(words) != 3 or words[0] != "race":
        raise LabelError(f"{where}: expected 'race OPERATION@MARK OPERATION@MARK', found '{text}'")
    sides = []
    for word in words[1:]:
        operation, _, mark = word.partition("@")
        if operation not in OPERATIONS or not mark:
            raise LabelError(f"{where}: expected OPERATION@MARK, found '{word}'")
        sides.append((operation, mark))
    return Pair(tuple(sides))


def load(path, kind):
    program = Program(path, kind)
    expects_nothing = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path}:{number}"
        header = re.match(r"// (rule|claim|flags|args|suppressions|expect|allow): (.*)$", line)
        if header:
            key, value = header.group(1), header.group(2).strip()
            if key in ("rule", "claim"):
                setattr(program, key, value)
            elif key in ("flags", "args"):
                getattr(program, key).extend(value.split())
            elif key == "suppressions":
                program.suppressions.append(value)
            elif key == "expect" and value == "nothing":
                expects_nothing = True
            else:
                getattr(program, key).append(parse_pair(value, where))
            continue
        marks = re.search(r"//((?: @\w+)+)\s*$", line)
        if marks:
            for mark in marks.group(1).split():
                program.marks.setdefault(mark[1:], set()).add(number)
    if not program.rule or not program.claim:
        raise LabelError(f"{path}: expected a '// rule:' and a '// claim:' line")
    if expects_nothing == bool(program.expect):
        raise LabelError(f"{path}: expected either '// expect: nothing' or '// expect: race ...'")
    if kind == "race" and expects_nothing or kind == "norace" and program.expect:
        raise LabelError(f"{path}: its expectation does not fit its folder")
    for pair in program.expect + program.allow:
        for _, mark in pair.sides:
            if mark not in program.marks:
                raise LabelError(f"{path}: no line is marked @{mark}")
    return program


def load_all(folder):
    programs = []
    for kind in KINDS:
        for path in sorted((folder / kind).glob("*.c")) + sorted((folder / kind).glob("*.cc")):
            programs.append(load(path, kind))
    programs.sort(key=lambda program: program.name)
    names = {kind: {p.path.name for p in programs if p.kind == kind} for kind in KINDS}
    for lonely in sorted(names["race"] ^ names["norace"]):
        raise LabelError(f"{folder}: {lonely}: expected in race/ and in norace/, found in one of them")
    return programs
