"""Standing rules from policy files, and policy files that count no more (trust-boundary.md, "Policy and settings").

Such a rule is no note: it has no number, no class of the ladder and no act that reaches it. Its frame says what memd has computed
and nothing else: that this user can write neither the file nor a folder above it, or that a key signed the file that is enrolled
here. The block stands by itself before the notes, whose own opening line goes on speaking for the weakest of them. A file's name is
plain by the rules of names (memd_client.policy_signing), so it stands in memd's lines as it is; what else comes from a file is
escaped.
"""

from collections.abc import Sequence
from typing import Final

from memd_daemon.frames.escape import escape_content, escape_line
from memd_daemon.frames.words import date
from memd_daemon.limits import LEFT_OUT_IDS_MAX
from memd_daemon.model.policy import Behind, Directive, Why

FRAMES: Final[dict[str, str]] = {
    Behind.OWNER: "DIRECTIVE (standing rule from a policy file that this user cannot write — follow it): ",
    Behind.SIGNATURE: "DIRECTIVE (standing rule from a policy file signed with the user's key — follow it): ",
}

OPENING: Final = "memd: {n} standing rules from policy files."
OPENING_ONE: Final = "memd: 1 standing rule from a policy file."
OPENING_NONE: Final = "memd: no standing rule of the policy files fits here."
CLOSING: Final = "memd: end of the policy."
CLOSING_LEFT_OUT: Final = "memd: end of the policy; did not fit: {names} (`memd policy list` has them)."

LOST: Final = (
    "memd: the policy file {name} no longer counts: {why} (seen on {date}). "
    "What it said no longer holds: {held}. Ask the user if this was meant."
)

REASONS: Final[dict[str, str]] = {
    Why.GONE: "it is gone",
    Why.BAD_NAME: "its name is not one that a policy file may have",
    Why.TOO_MANY: "there are too many policy files beside it",
    Why.NO_FILE: "what stands in its place is no plain file",
    Why.UNREADABLE: "it cannot be read",
    Why.TOO_LARGE: "it is larger than a policy file may be",
    Why.ROOT: "memd runs as root, for whom no file is out of reach, and it is not signed",
    Why.IN_REACH: "this user can change it, and it is not signed",
    Why.NOT_SIGNED: "it is not signed",
    Why.BAD_SIGNATURE_FILE: "its signature cannot be read",
    Why.OTHER_STORE: "its signature is for another store",
    Why.KEY_UNKNOWN: "no key that is enrolled here signed it",
    Why.KEY_REJECTED: "the key that signed it was rejected",
    Why.CHANGED: "what it says is not what was signed",
    Why.OLDER: "it is older than the version that counted last",
    Why.MALFORMED: "it breaks the rules of a policy file",
}
"""What is said of a file that does not count."""


def rule_line(name: str, behind: str, rule: Directive, tags: Sequence[str]) -> str:
    """One rule: ``[policy team.toml] DIRECTIVE (…): …``. ``name``: of the file; ``behind``: who stands behind it."""
    under = f"[under {escape_line(rule.under, tags, stops=',')}] " if rule.under else ""
    return f"[policy {name}] {under}{FRAMES[behind]}{escape_content(rule.text, tags)}"


def opening(count: int) -> str:
    if not count:
        return OPENING_NONE
    return OPENING_ONE if count == 1 else OPENING.format(n=count)


def closing(left: Sequence[tuple[str, int]], named: int = LEFT_OUT_IDS_MAX) -> str:
    """The block's last line. ``left``: (file, number) of the rules that did not fit, of which the first ``named`` are named."""
    if not left:
        return CLOSING
    if not named:
        return CLOSING_LEFT_OUT.format(names=f"{len(left)} rule{'' if len(left) == 1 else 's'}")
    names = ", ".join(f"{name} rule {number}" for name, number in left[:named])
    others = len(left) - named
    return CLOSING_LEFT_OUT.format(names=f"{names} and {others} others" if others > 0 else names)


def block(lines: Sequence[str], left: Sequence[tuple[str, int]] = (), named: int = LEFT_OUT_IDS_MAX) -> str:
    """The whole block, without a line end."""
    return "\n".join([opening(len(lines)), *lines, closing(left, named)])


def lost(name: str, why: str, seen_at: int, rules: int, locks: int) -> str:
    """A file that counted, and counts no more. ``rules`` and ``locks``: how many it held; ``seen_at``: UTC, Unix milliseconds."""
    held = ", ".join(
        f"{count} {what}{'' if count == 1 else 's'}"
        for count, what in ((rules, "standing rule"), (locks, "locked setting"))
        if count
    )
    return LOST.format(name=name, why=REASONS[why], date=date(seen_at), held=held)
