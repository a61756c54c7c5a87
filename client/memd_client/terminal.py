"""A person at a terminal: where a passphrase or a recovery code is asked for, and what hinders a harness from answering.

The passphrase is typed at the controlling terminal, `/dev/tty`: never standard input, the environment or a flag, which whatever
runs the command could supply. What will be signed is shown first, one line each, with everything that could move the cursor or
turn the text around written out by number. What was typed before the question is thrown away.

`under_harness` is a hindrance, not a proof: a process of the same user can clear its environment, or drive a terminal of its
own. SECURITY.md says so.

From the first question until the last answer is judged nothing that is typed shows, also between two tries; what is typed while no
question stands is thrown away.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final

from memd_client import signing, wrap
from memd_client.signing import SigningError

TRIES: Final = 3
PAUSES_S: Final = (1.0, 3.0)  # before the second and the third try
LINE_MAX_BYTES: Final = 4096  # what a terminal gives at most for one line
ANCESTORS_MAX: Final = 64  # a chain of processes that is longer has a loop in it

# Set by a harness for what it runs. Settings that people export in their profiles (keys, homes, models) are no markers.
MARKERS: Final = (
    *("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"),
    *("CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_CI", "CODEX_SANDBOX"),
    *("CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD"),
    *("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID", "COPILOT_PROJECT_DIR", "COPILOT_HOOK_DIR"),
    *("OPENCODE", "OPENCODE_PID", "CURSOR_AGENT", "AI_AGENT", "AGENT"),
)
_HARNESS: Final = re.compile(r"(?:claude|codex|gemini|copilot|opencode|cursor)(?:[-_. ].*)?", re.IGNORECASE | re.DOTALL)
_INTERPRETER: Final = re.compile(r"(?:node|nodejs|bun|deno|python[\d.]*)(?:\.exe)?", re.IGNORECASE)


class TooManyTries(SigningError):
    """Three wrong passphrases: nothing was signed. Start again when you have it; if it is lost, `memd human init --recover` makes another key."""  # noqa: E501


class TooManyCodes(SigningError):
    """Three times no recovery code of this store: nothing was signed. Look for the right paper, and start again."""


class PassphrasesDiffer(SigningError):
    """The two passphrases are not the same, and nothing was done. Start again."""


class NoTerminal(SigningError):
    """A passphrase is asked for at a terminal of your own, and there is none here. Run the same command in your terminal."""


class InBackground(SigningError):
    """A passphrase is asked for in the foreground. Bring the command there with `fg`, or start it again without `&`."""


class Abandoned(SigningError):
    """Nothing was given, so nothing was signed. Start again when you have it."""


def ask_passphrase(plan: Sequence[str], *, prompt: str = "Passphrase: ", again: str = "", least: int = 0) -> bytearray:
    """Shows the plan and asks for the passphrase, unseen; gives the bytes as typed. `signing.wipe` them after use.

    ``plan``: a line each, shown before the question, escaped and broken at words. ``again``: the second question, for a new
    passphrase, which has ``least`` bytes or more.
    Raises NoTerminal, InBackground, Abandoned (end of input, or nothing typed), PassphraseTooShort, PassphrasesDiffer.
    """
    with _unechoed() as terminal:
        _show_lines(terminal, plan)
        passphrase = _answer(terminal, prompt)
        with ExitStack() as undone:
            undone.callback(signing.wipe, passphrase)
            if len(passphrase) < least:
                raise signing.PassphraseTooShort(least)
            if again and not _same(passphrase, _answer(terminal, again)):
                raise PassphrasesDiffer
            undone.pop_all()
        return passphrase


def sign_asking(
    key: signing.KeyFile,
    digests: Sequence[bytes],
    plan: Sequence[str],
    pause: Callable[[float], object],
    prompt: str = "Passphrase: ",
) -> list[bytes]:
    """One plan, one passphrase, the signatures in the order of the digests. ``pause(seconds)`` waits before another try.

    Raises TooManyTries after three wrong ones, and what `ask_passphrase` and `signing.sign` raise.
    """
    with _unechoed() as terminal:
        _show_lines(terminal, plan)
        for number in range(TRIES):
            if number:
                _show_lines(terminal, ["That passphrase does not open the key."])
                pause(PAUSES_S[number - 1])
            passphrase = _answer(terminal, prompt)
            try:
                return signing.sign_all(key, passphrase, digests)
            except signing.WrongPassphrase:
                continue
            finally:
                signing.wipe(passphrase)
    raise TooManyTries


def ask_recovery(plan: Sequence[str], known: Collection[bytes]) -> signing.RecoveryKey:
    """Shows the plan and asks for a recovery code, unseen, typed or pasted; gives its key.

    What is wrong with a code is said before anything is done with it. ``known``: the public halves of the codes that may sign.
    Raises TooManyCodes after three that do not, NoTerminal, InBackground, Abandoned. Python keeps the code's letters in memory
    until this process ends, which it does soon.
    """
    with _unechoed() as terminal:
        _show_lines(terminal, plan)
        for _ in range(TRIES):
            typed = _answer(terminal, "Recovery code: ")
            try:
                key = signing.recovery_key(typed.decode("utf-8", "replace"))
            except signing.BadRecoveryCode as wrong:
                _show_lines(terminal, [str(wrong)])
                continue
            finally:
                signing.wipe(typed)
            if key.public in known:
                return key
            _show_lines(terminal, ["That is a recovery code, but not one that is good for this store (any more)."])
    raise TooManyCodes


def agrees(lines: Sequence[str], question: str) -> bool:
    """A question at the controlling terminal; Enter is yes, as is y. Raises NoTerminal, InBackground; end of input is no."""
    with _open_terminal(echo=True) as terminal:
        _show_lines(terminal, lines)
        _show(terminal, f"{question} [Y/n]: ")
        typed = os.read(terminal, LINE_MAX_BYTES)
    return typed[:1] in (b"\n", b"y", b"Y")


def shown(line: str) -> str:
    """A line as a terminal may get it: control, format and bidirectional characters and line ends as their numbers."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in line)


def _same(first: bytearray, second: bytearray) -> bool:
    try:
        return first == second
    finally:
        signing.wipe(second)


def show_lines(lines: Sequence[str]) -> None:
    """Lines on the controlling terminal and nowhere else, escaped. Raises NoTerminal, also where it goes away meanwhile."""
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _show_lines(terminal, lines)
        finally:
            os.close(terminal)
    except OSError:
        raise NoTerminal from None


def _show_lines(terminal: int, lines: Sequence[str]) -> None:
    width = os.get_terminal_size(terminal).columns
    _show(terminal, "".join(f"{laid}\n" for line in lines for laid in wrap.laid(shown(line), width)))


def _show(terminal: int, text: str) -> None:
    rest = text.encode()
    while rest:
        rest = rest[os.write(terminal, rest) :]


def _unechoed() -> AbstractContextManager[int]:
    return _open_terminal(echo=False)


@contextmanager
def _open_terminal(*, echo: bool) -> Iterator[int]:
    """The controlling terminal, showing what is typed or nothing of it. Raises NoTerminal, InBackground."""
    import termios

    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise NoTerminal from None
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise InBackground
        before = termios.tcgetattr(terminal)
        asking = [*before]
        asking[3] = (asking[3] | termios.ICANON | termios.ISIG) & ~termios.ECHO | (termios.ECHO if echo else 0)
        try:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, asking)
            yield terminal
        finally:
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
    finally:
        os.close(terminal)


def _answer(terminal: int, question: str) -> bytearray:
    """One line as typed after the question, without its end. Raises Abandoned."""
    import termios

    typed = bytearray(LINE_MAX_BYTES)
    termios.tcflush(terminal, termios.TCIFLUSH)
    try:
        _show(terminal, question)
        line = typed[: os.readv(terminal, [typed])]
    finally:
        signing.wipe(typed)
        _show(terminal, "\n")
    while line.endswith((b"\n", b"\r")):
        del line[-1]
    if not line:
        raise Abandoned
    return line


def under_harness(environ: Mapping[str, str], ancestors: Iterable[str]) -> str | None:
    """Why this looks like a command that an agent's client runs, for people; None where it does not.

    ``ancestors``: names or paths of the programs above this one (name and program of what `ancestors` gives).
    """
    for marker in MARKERS:
        if environ.get(marker):
            return f"the environment holds {marker}"
    for name in ancestors:
        if any(_HARNESS.fullmatch(part) for part in _program(name)):
            return f"it runs under {shown(name)}"
    return None


def _program(name: str) -> list[str]:
    """The parts of a program's path that name it: the last, and below `node_modules` all of them."""
    *above, last = name.split("/")
    at = max((i for i, part in enumerate(above) if part == "node_modules"), default=len(above))
    return [*above[at:], last]


def ancestors(pid: int) -> list[tuple[int, str, str]]:
    """The processes above ``pid``, the nearest first: (pid, name, program).

    The name is the kernel's (15 bytes at most); the program is what was started: the first word of the command line, or the
    script where that word is an interpreter. Empty where there is no /proc.
    """
    found: list[tuple[int, str, str]] = []
    parent = _parent(pid)
    while parent > 0 and len(found) < ANCESTORS_MAX:
        found.append((parent, _read(parent, "comm").rstrip("\n"), _started(parent)))
        parent = _parent(parent)
    return found


def _parent(pid: int) -> int:
    after_name = (
        _read(pid, "stat").rpartition(")")[2].split()
    )  # the name before it may hold anything, brackets included
    return int(after_name[1]) if len(after_name) > 1 else 0


def _started(pid: int) -> str:
    words = _read(pid, "cmdline").split("\0")
    if _INTERPRETER.fullmatch(words[0].rpartition("/")[2]):
        return next((word for word in words[1:] if word and not word.startswith("-")), words[0])
    return words[0]


def _read(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:  # gone, or no /proc here
        return ""
