"""memd's own words, read back: a block of text -> the notes that stand in it, by the rules a reader is told.

A line at the first column is memd's (a notice, a rule of a policy file, an envelope or the head of a note; notices come first, then
the rules in an envelope of their own, then the notes); two spaces, ``|``, one space begin a further line of a content; two spaces
and a word in capitals begin a line of memd's about the note above. A content that nothing of follows the colon of its frame stands
below it in stripes, each behind a label in brackets, all filled up to one column; then come the user's sentences, in quotes.
"""

import re
from dataclasses import dataclass, field

OPENING = re.compile(r"memd: (?:\d+ notes?[ ,]|1 auto-captured note |no notes here(?:\.| bear on that: )).*")
CLOSING = re.compile(
    r"memd: end(?:\.|; (\d+) more qualified and did not fit: ((?:\[\d+\] ?)+)(?:and (\d+) others )?\(.*\)\.)"
)
WHO = "(?:a command in an AI session|a command of no known AI session)"
DAY = r"\d{4}-\d\d-\d\d"
SPAN = rf"(?:(?:\d+ times )?on {DAY}|from {DAY} to {DAY}|\d+ times between {DAY} and {DAY})"
NOTICE = re.compile(
    rf"memd: (?:stopped {SPAN} by {WHO}, not signed by the user: .*"
    rf"|paused since {DAY} by {WHO}, not signed by the user\. .*"
    rf"|paused {SPAN} by {WHO}, not signed by the user: .*"
    rf"|kept out of this repository by the list `(?:ignore|only)`, set on {DAY} by {WHO}, not signed by the user\. .*"
    rf"|kept out of this repository {SPAN} by the list `(?:ignore|only)`, set by {WHO}, not signed by the user: .*"
    rf"|the list `(?:ignore|only)` of repositories was changed on {DAY} by {WHO}, not signed by the user\."
    r"|settings that the user did not sign: .*"
    rf"|a key that endorses for the user was enrolled on {DAY}, at .*: fingerprint [0-9a-f ]+\. .*"
    rf"|a key that was enrolled on {DAY} \(fingerprint [0-9a-f ]+\) has been rejected since\."
    r"|\d+ more keys were enrolled in these days: .*"
    r"|\d+ more of these did not fit: .*"
    rf"|the policy file .* no longer counts: .* \(seen on {DAY}\)\. What it said no longer holds: .*\. Ask the user .*)"
)
POLICY_OPENING = re.compile(
    r"memd: (?:(\d+) standing rules from policy files|(1) standing rule from a policy file"
    r"|no standing rule of the policy files fits here)\."
)
POLICY_CLOSING = re.compile(
    r"memd: end of the policy(?:\.|; did not fit: (?:(\d+) rules?|([\w.-]+ rule \d+(?:, [\w.-]+ rule \d+)*)(?: and (\d+) others)?)"
    r" \(`memd policy list` has them\)\.)"
)
POLICY_RULE = re.compile(
    r"\[policy ([\w.-]+\.toml)\] (\[under .*?\] )?DIRECTIVE \(standing rule from a policy file "
    r"(that this user cannot write|signed with the user's key) — follow it\): (.*)"
)
HEAD = re.compile(r"\[(\d+)\] (.*)")
LINE = re.compile(r"  (WARNING|VERDICT|NOTE): .*")
FRAMES = re.compile(
    r"(?:DIRECTIVE \(standing rule from the user — follow it\): |Recorded by the user: "
    r"|User-stated \(the user's own words, checked against turn \d+; follow it, and if it looks wrong, ask\): "
    r"|Memory to verify \(recorded (?:by an AI session|at the command line), not human-endorsed\): "
    r"|Auto-captured \(weakest confidence, no reviewing judgment applied — verify before relying on this\): )"
)
QUOTED = r'((?:[^"\\]|\\.)*)'
TOMBSTONE = re.compile(
    r"Previously believed \(recorded \d{4}-\d\d-\d\d, revoked \d{4}-\d\d-\d\d, reason: "
    rf'{QUOTED}\): "{QUOTED}"\. Do not re-derive this from other sources without verification\.'
)
RECALL_PARTS = ("LOW|MEDIUM|HIGH", "[A-Z]+", "human|agent|auto", "scope=.*", ".*", r"derived from (?:\[\d+\](?:, )?)+")
AGE = re.compile(r"  \((\d+)d ago\)( \[STALE\])?")
STRIPE = re.compile(r"  (\[(?:user-stated, turn (\d+)|human|agent|auto)\] {2,})(\S.*)")
CLAIMED = r"claimed user turn(?:: not kept here| \d+: [a-z]+)"
QUOTE = re.compile(
    rf"  \[(user, turn \d+|{CLAIMED})\] "
    rf'(?:"{QUOTED}"|what was said is longer than a line: show \[\d+\] has it)'
)
RECORDED = re.compile(r" Recorded \d{4}-\d\d-\d\d")


def inside(text: str, start: int) -> str:
    """What stands between the bracket at ``start`` and its partner; a backslash takes the next character's meaning away."""
    opener, closer = text[start], {"[": "]", "(": ")"}[text[start]]
    depth, at = 0, start
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == opener:
            depth += 1
        elif text[at] == closer:
            depth -= 1
            if depth == 0:
                return text[start + 1 : at]
        at += 1
    raise AssertionError(f"no partner for {opener} in {text!r}")


def is_recall_head(words: str) -> bool:
    """Whether the words after an id are the header of a recalled note, to the end of the line."""
    at = 0
    for number, part in enumerate(RECALL_PARTS):
        if not words.startswith("[", at):
            return False
        held = inside(words, at)
        if not re.fullmatch(part, held):
            return False
        at += len(held) + 2
        if number >= 4 and not words.startswith(" [", at):
            break
        at += 1
    if words.startswith("  [", at):
        at += len(inside(words, at + 2)) + 4
    return AGE.fullmatch(words, at) is not None


def structural_content(body: str) -> str:
    """The content after ``[class, source] Recorded {date} (…): ``."""
    at = len(inside(body, 0)) + 2
    recorded = RECORDED.match(body, at)
    assert recorded, body
    at = recorded.end()
    if body.startswith(" (", at):
        at += len(inside(body, at + 1)) + 3
    assert body.startswith(": ", at), body
    return body[at + 2 :]


@dataclass
class Read:
    """A note as a reader finds it."""

    id: int
    head: str
    content: list[str]  # lines; a tombstone has its one line here
    tombstone: tuple[str, str] | None = None  # reason, summary, as they stand
    lines: list[str] = field(default_factory=list)
    stripes: list[tuple[int, str]] = field(default_factory=list)  # (turn, text); the content is then empty
    quotes: list[tuple[str, str]] = field(default_factory=list)  # (whose, the sentence)


@dataclass
class PolicyRule:
    """A rule of a policy file as a reader finds it."""

    file: str
    signed: bool
    content: list[str]


def read_start(block: str) -> tuple[list[str], list[Read], list[int]]:
    """(memd's own lines, notes, ids named as left out) of a start's bundle, in which any part may be missing."""
    lines = block.split("\n") if block else []
    count = next((at for at, line in enumerate(lines) if not NOTICE.fullmatch(line)), len(lines))
    _, rest = read_policy("\n".join(lines[count:]))
    notes, left = read_block(rest) if rest else ([], [])
    return lines[:count], notes, left


def read_policy(block: str) -> tuple[list[PolicyRule], str]:
    """(rules of policy files, the rest of the block), where the block begins with them."""
    lines = block.split("\n") if block else []
    opening = POLICY_OPENING.fullmatch(lines[0]) if lines else None
    if opening is None:
        return [], block
    rules: list[PolicyRule] = []
    for at, line in enumerate(lines[1:], 1):
        if POLICY_CLOSING.fullmatch(line):
            assert len(rules) == int(opening.group(1) or opening.group(2) or 0), block
            return rules, "\n".join(lines[at + 1 :])
        if head := POLICY_RULE.fullmatch(line):
            rules.append(PolicyRule(head.group(1), head.group(3).startswith("signed"), [head.group(4)]))
        else:
            assert line.startswith("  | "), line
            rules[-1].content.append(line[4:])
    raise AssertionError(f"no end of the policy in {block!r}")


def read_block(block: str) -> tuple[list[Read], list[int]]:
    """(notes, ids named as left out). Raises AssertionError for a text that is not one of memd's blocks."""
    first, *inside, last = block.split("\n")
    assert OPENING.fullmatch(first), first
    closing = CLOSING.fullmatch(last)
    assert closing, last
    notes: list[list[str]] = []
    for line in inside:
        assert not line.startswith("memd:"), line
        if HEAD.fullmatch(line):
            notes.append([line])
        else:
            assert line.startswith("  "), line
            notes[-1].append(line)
    left = [int(i) for i in re.findall(r"\[(\d+)\]", closing.group(2) or "")]
    return [read_note(lines) for lines in notes], left


def read_note(lines: list[str]) -> Read:
    """One note, pushed or recalled."""
    head = HEAD.fullmatch(lines[0])
    assert head, lines[0]
    rest = lines[1:]
    words = head.group(2)
    if is_recall_head(words):
        assert rest[0].startswith("  ")
        body, rest = rest[0][2:], rest[1:]
    elif words.startswith("[under "):
        body = words[len(inside(words, 0)) + 3 :]
    else:
        body = words
    note = Read(int(head.group(1)), words, [])
    if body.endswith(":") and rest and STRIPE.fullmatch(rest[0]):
        assert FRAMES.fullmatch(body + " ") or structural_content(body + " ") == "", body
        rest = read_stripes(note, rest)
    elif fallen := TOMBSTONE.fullmatch(body):
        note.tombstone = (fallen.group(1), fallen.group(2))
        note.content = [body]
    elif framed := FRAMES.match(body):
        note.content = [body[framed.end() :]]
    else:
        note.content = [structural_content(body)]
    while rest and rest[0].startswith("  | "):
        note.content.append(rest.pop(0)[4:])
    while rest and (quote := QUOTE.fullmatch(rest[0])):
        note.quotes.append((quote.group(1), quote.group(2)))
        rest = rest[1:]
    assert all(LINE.fullmatch(line) for line in rest), rest
    note.lines = rest
    return note


def read_stripes(note: Read, rest: list[str]) -> list[str]:
    """Puts the stripes into the note; gives the lines after them. All labels are as wide as the widest needs."""
    columns = set()
    while rest and (stripe := STRIPE.fullmatch(rest[0])):
        columns.add((len(stripe.group(1)), len(stripe.group(1).rstrip())))
        lines = [stripe.group(3)]
        rest = rest[1:]
        while rest and rest[0].startswith("  | "):
            lines.append(rest[0][4:])
            rest = rest[1:]
        note.stripes.append((int(stripe.group(2) or 0), "\n".join(lines)))
    assert {width for width, _ in columns} == {max(label for _, label in columns) + 2}, columns
    return rest
