"""git's own ``post-commit`` hook: the one signal for every harness and for people (Gemini CLI turns git hooks off).

git gives it no stdin and no argument; the commit is HEAD of the frame's cwd, which is the top of the work tree. Who committed is
told by the session ids that clients give to the shells they start. Two clients' ids at once (one was started from the other's
shell) do not tell which of them it was, and nothing is guessed: the session is then unknown.

**Rebase, cherry-pick and the end of a merge** fire it too (am and a merge without conflicts do not), and make no note. Some git
versions say so in ``GIT_REFLOG_ACTION``, and ``parse`` then answers None; 2.39 and later say nothing in the environment. What
always tells is git itself, and the daemon asks it together with the sha: HEAD's newest reflog line, already written when the
hook runs (``git reflog -1 --format=%gs HEAD``; ``is_replay`` reads it), and a folder ``rebase-merge`` or ``rebase-apply`` in the
git directory (a commit made while a rebase stands still has an ordinary line).
"""

from collections.abc import Mapping

from memd_hooks.events import HookAnswer, HookEvent, Moment
from memd_hooks.harness.sessions import SESSION_NAMES

NAME: str = "git"
CAP_UNITS: int = 0  # git shows a hook's words to a person, never to a model
TAGS: tuple[str, ...] = ()
CLIENT_NAMES: tuple[str, ...] = ("git",)
PERSON_ENTRY_POINTS: tuple[str, ...] = ()
RESUME_FLAGS: tuple[str, ...] = ()

_REPLAYS = ("rebase", "cherry-pick", "am", "merge", "pull")


def parse(event: str, stdin: bytes, cwd: str, env: Mapping[str, str]) -> HookEvent | None:
    """The commit that was just made, its sha left to be asked for; None while git replays or merges commits. Total."""
    if event != Moment.GIT_COMMIT or not cwd or is_replay(env.get("GIT_REFLOG_ACTION", "")):
        return None
    return HookEvent(moment=Moment.GIT_COMMIT, harness=NAME, session=_session(env), cwd=cwd)


def is_replay(action: str) -> bool:
    """Whether a reflog action or line (`rebase (pick)`, `commit (merge): …`) is of a commit that nobody wrote just now."""
    verb, _, rest = action.partition(" ")
    if verb.rstrip(":") == "commit":
        return rest.startswith(("(merge)", "(cherry-pick)"))
    return verb.rstrip(":") in _REPLAYS


def render(event: HookEvent, answer: HookAnswer) -> bytes:
    """Always empty: what a git hook prints lands in a person's terminal."""
    return b""


def result_text(raw: bytes) -> str:
    """Nothing: git has no tools."""
    return ""


def cost_units(text: str) -> int:
    """Characters; nothing is ever sent."""
    return len(text)


def _session(env: Mapping[str, str]) -> str:
    found = [
        next((env[name] for name in names if env.get(name, "").isprintable() and env.get(name)), "")
        for names in SESSION_NAMES.values()
    ]
    named = [session for session in found if session]
    return named[0] if len(named) == 1 else ""
