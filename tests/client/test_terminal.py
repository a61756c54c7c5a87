"""Asking for a passphrase at a terminal that is there, and at none; and what hinders a harness."""

import os
import pty
import select
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd_client import signing, terminal

WAIT_S = 20  # for a child that hangs; no test waits for it to pass
PASSPHRASE = b"four words in a row"

HEAD = """
import fcntl, os, signal, sys, termios
from memd_client import signing, terminal
os.setsid()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in a shell's background is started with it ignored
"""
TAKE_TERMINAL = "fcntl.ioctl({slave}, termios.TIOCSCTTY, 0)\n"
ASK = """
try:
    typed = terminal.ask_passphrase({plan!r}, again={again!r}, least={least})
    print("typed", bytes(typed))
except signing.SigningError as error:
    print(error.code)
"""


class Screen:
    """A terminal of its own with a program at it; standard input, output and error of the program lead elsewhere."""

    def __init__(self, program: str) -> None:
        self.master, slave = pty.openpty()
        os.set_inheritable(slave, True)
        code = HEAD + TAKE_TERMINAL.format(slave=slave) + textwrap.dedent(program)
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[slave],
        )
        os.close(slave)
        self.seen = b""

    def until(self, text: bytes) -> bytes:
        """What stood on the screen since the last call, once ``text`` has come."""
        while text not in self.seen:
            assert select.select([self.master], [], [], WAIT_S)[0], self.seen
            self.seen += os.read(self.master, 4096)
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def out(self) -> str:
        """What the program printed, once it has ended."""
        out, error = self.process.communicate(timeout=WAIT_S)
        assert error == b""
        return out.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        os.close(self.master)


@pytest.fixture
def screens() -> Iterator[list[Screen]]:
    opened: list[Screen] = []
    yield opened
    for screen in opened:
        screen.close()


def ask(plan: list[str], again: str = "", least: int = 0) -> str:
    return ASK.format(plan=plan, again=again, least=least)


def test_the_passphrase_is_asked_at_the_terminal_and_not_shown(screens: list[Screen]) -> None:
    """The plan stands above the question; what is typed comes back as bytes and never on the screen."""
    screens.append(screen := Screen(ask(["promote [47]: agent -> human", "never commit to main"])))
    assert screen.until(b"Passphrase: ") == b"promote [47]: agent -> human\r\nnever commit to main\r\n"
    screen.type("schlüssel für alles\n".encode())
    assert screen.out() == f"typed {'schlüssel für alles'.encode()!r}\n"
    screen.seen += os.read(screen.master, 4096)
    assert screen.seen == b"\r\n"


def test_the_plan_cannot_move_the_cursor(screens: list[Screen]) -> None:
    """Escapes, line ends, bidirectional and zero-width characters are shown as their numbers."""
    screens.append(screen := Screen(ask(["a\x1b[2Jb\rc\nd\u202ee\u200bf\x9bg\udc80"])))
    assert screen.until(b"Passphrase: ") == rb"a\u{1b}[2Jb\u{d}c\u{a}d\u{202e}e\u{200b}f\u{9b}g\u{dc80}" + b"\r\n"


def test_standard_input_is_not_read(screens: list[Screen]) -> None:
    """A passphrase on standard input stays there."""
    screens.append(screen := Screen(ask([]) + "print(sys.stdin.read())"))
    assert screen.process.stdin is not None
    screen.process.stdin.write(b"from the pipe\n")
    screen.process.stdin.flush()
    screen.until(b"Passphrase: ")
    screen.type(b"from the keys\n")
    assert screen.out() == "typed b'from the keys'\nfrom the pipe\n\n"


def test_what_was_typed_before_the_question_is_thrown_away(screens: list[Screen]) -> None:
    """Keys that wait in the terminal are no answer."""
    screens.append(screen := Screen(f"sys.stdin.readline()\n{ask([])}"))
    screen.type(b"typed too early\n")
    screen.until(b"typed too early\r\n")  # the terminal has taken it
    assert screen.process.stdin is not None
    screen.process.stdin.write(b"go\n")
    screen.process.stdin.flush()
    screen.until(b"Passphrase: ")
    screen.type(b"typed in time\n")
    assert screen.out() == "typed b'typed in time'\n"


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        (b"four words in a row\n", b"four words in a row\n", "typed b'four words in a row'\n"),
        (b"four words in a row\n", b"four words in a rwo\n", "passphrases-differ\n"),
        (b"four words in a row\n", b"\n", "abandoned\n"),
    ],
)
def test_a_new_passphrase_is_typed_twice(screens: list[Screen], first: bytes, second: bytes, printed: str) -> None:
    """Both have to be the same."""
    screens.append(screen := Screen(ask([], again="Once more: ")))
    screen.until(b"Passphrase: ")
    screen.type(first)
    screen.until(b"Once more: ")
    screen.type(second)
    assert screen.out() == printed


@pytest.mark.parametrize("keys", [b"\n", b"\x04"], ids=["nothing typed", "end of input"])
def test_no_passphrase_ends_it(screens: list[Screen], keys: bytes) -> None:
    """An empty line and the end of input give nothing to sign with."""
    screens.append(screen := Screen(ask([])))
    screen.until(b"Passphrase: ")
    screen.type(keys)
    assert screen.out() == "abandoned\n"


def test_the_terminal_echoes_again_after_an_interrupt(screens: list[Screen]) -> None:
    """Ctrl-C at the question leaves the terminal as it was."""
    program = """
        before = termios.tcgetattr(os.open("/dev/tty", os.O_RDWR))
        try:
            terminal.ask_passphrase([])
        except KeyboardInterrupt:
            print("interrupted", termios.tcgetattr(os.open("/dev/tty", os.O_RDWR)) == before)
    """
    screens.append(screen := Screen(program))
    screen.until(b"Passphrase: ")
    screen.type(b"half of it\x03")
    assert screen.out() == "interrupted True\n"


def test_without_a_terminal_it_says_what_to_do() -> None:
    """A session that never had one gets the error, whatever stands on its standard input."""
    program = HEAD + ask(["plan"]) + "print(terminal.NoTerminal())"
    ended = subprocess.run(
        [sys.executable, "-c", program], input=b"x\n", capture_output=True, check=True, timeout=WAIT_S
    )
    assert ended.stdout.decode().splitlines() == ["no-terminal", str(terminal.NoTerminal())]
    assert "in your terminal" in str(terminal.NoTerminal())


def test_in_the_background_it_is_not_asked(screens: list[Screen]) -> None:
    """A job that does not hold the terminal would be stopped by it: it is told so instead."""
    program = """
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            try:
                terminal.ask_passphrase([])
            except signing.SigningError as error:
                os.write(1, error.code.encode())
            os._exit(0)
        os.waitpid(child, 0)
    """
    screens.append(screen := Screen(program))
    assert screen.out() == "in-background"


SIGN = """
key = signing.load_key({path!r})
pauses = []
try:
    signatures = terminal.sign_asking(key, [bytes(32), bytes(range(32))], ["the plan"], pauses.append)
    print([signing.verify(key.public, d, s) for d, s in zip([bytes(32), bytes(range(32))], signatures)])
except signing.SigningError as error:
    print(error.code)
print(pauses)
"""


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("home") / "keys" / "key.json"
    signing.write_key(str(path), signing.create_key(PASSPHRASE, n=signing.SCRYPT_N_MIN))
    return path


def test_three_wrong_passphrases_end_the_command(screens: list[Screen], key_file: Path) -> None:
    """The plan is shown once, the pauses grow, and a fourth try is not to be had."""
    screens.append(screen := Screen(SIGN.format(path=str(key_file))))
    assert screen.until(b"Passphrase: ") == b"the plan\r\n"
    screen.type(b"wrong one\n")
    assert b"does not open" in screen.until(b"Passphrase: ")
    screen.type(b"wrong two\n")
    assert b"the plan" not in screen.until(b"Passphrase: ")
    screen.type(b"wrong three\n")
    first, second = terminal.PAUSES_S
    assert first < second
    assert screen.out() == f"too-many-tries\n{[first, second]}\n"


def test_the_right_passphrase_after_two_wrong_ones_signs(screens: list[Screen], key_file: Path) -> None:
    """The third try counts like the first, and signs the whole plan."""
    screens.append(screen := Screen(SIGN.format(path=str(key_file))))
    for typed in (b"wrong one", b"wrong two", PASSPHRASE):
        screen.until(b"Passphrase: ")
        screen.type(typed + b"\n")
    assert screen.out() == f"[True, True]\n{list(terminal.PAUSES_S)}\n"


@pytest.mark.parametrize(
    ("environ", "above", "reason"),
    [
        ({"CLAUDECODE": "1"}, [], "CLAUDECODE"),
        ({"CODEX_THREAD_ID": "t"}, [], "CODEX_THREAD_ID"),
        ({"GEMINI_CLI": "1"}, [], "GEMINI_CLI"),
        ({"COPILOT_CLI": "1"}, [], "COPILOT_CLI"),
        ({"OPENCODE": "1"}, [], "OPENCODE"),
        ({"AI_AGENT": "claude-code_2-1-332_agent"}, [], "AI_AGENT"),
        ({}, ["bash", "claude"], "claude"),
        ({}, ["/home/ada/.local/bin/claude"], "claude"),
        ({}, ["codex-x86_64-unknown-linux-musl"], "codex"),
        ({}, ["/usr/lib/node_modules/@google/gemini-cli/dist/index.js"], "gemini"),
        ({}, ["/usr/lib/node_modules/@github/copilot/index.js"], "copilot"),
        ({}, ["opencode"], "opencode"),
        ({}, ["cursor-agent"], "cursor"),
        ({}, ["Cursor Helper"], "Cursor"),
        ({}, ["Claude"], "Claude"),
    ],
)
def test_a_harness_is_recognized(environ: dict[str, str], above: list[str], reason: str) -> None:
    """By what it sets, or by a program above this one; the answer says by which."""
    assert reason in (terminal.under_harness(environ, above) or "")


@pytest.mark.parametrize(
    ("environ", "above"),
    [
        ({}, []),
        ({"CLAUDECODE": ""}, []),
        ({"GEMINI_API_KEY": "k", "CODEX_HOME": "/h", "ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_USE_BEDROCK": "1"}, []),
        ({"CLAUDE_PROJECT_DIR": "/r", "TERM": "xterm", "SSH_AGENT_PID": "7"}, ["bash", "sshd", "systemd"]),
        ({}, ["/home/claude/bin/bash", "cursory", "claudette", "/opt/codex/bin/python3", "node", "tmux: server"]),
    ],
)
def test_a_person_is_not_hindered(environ: dict[str, str], above: list[str]) -> None:
    """Settings in a profile, a home directory's name and other programs are no harness."""
    assert terminal.under_harness(environ, above) is None


def test_the_processes_above_are_named() -> None:
    """The nearest is this test's own process, with what it was started as; the chain ends at the first process."""
    program = "import os; from memd_client import terminal; print(terminal.ancestors(os.getpid()))"
    above = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    nearest = terminal.ancestors(os.getpid())
    assert above.startswith(f"[({os.getpid()}, ")
    assert [pid for pid, _, _ in nearest][:1] == [os.getppid()]
    assert nearest[-1][0] == 1 or os.getppid() == 0


def test_an_interpreter_is_named_by_its_script(tmp_path: Path) -> None:
    """What runs is the script, not the program that reads it; and a name may hold brackets and spaces."""
    script = tmp_path / "claude) (x"
    script.write_text(
        "import subprocess, sys\n"
        "code = 'import os; from memd_client import terminal; print(terminal.ancestors(os.getpid())[0][2])'\n"
        "sys.exit(subprocess.run([sys.executable, '-c', code]).returncode)\n"
    )
    ended = subprocess.run([sys.executable, "-B", str(script)], capture_output=True, text=True, check=True)
    assert ended.stdout == f"{script}\n"


TRIES = """
import time
key = signing.create_key({passphrase!r}, n=2**15)
def pause(seconds):
    os.write(2, b"paused")
    sys.stdin.readline()
try:
    signatures = terminal.sign_asking(key, [bytes(32)], ["line of the plan"], pause)
    print("signed", len(signatures))
except signing.SigningError as error:
    print(error.code)
"""


def test_nothing_that_is_typed_between_tries_shows_or_counts(screens: list[Screen]) -> None:
    """Not while the passphrase is judged, not in the pause before the next question."""
    screens.append(screen := Screen(TRIES.format(passphrase=PASSPHRASE)))
    screen.until(b"line of the plan\r\nPassphrase: ")
    screen.type(b"not this one\n")
    assert screen.until(b"That passphrase does not open the key.\r\n") == b"\r\n"
    assert screen.process.stderr is not None
    assert screen.process.stderr.read(6) == b"paused"
    screen.type(b"typed too early\n")
    assert screen.process.stdin is not None
    screen.process.stdin.write(b"go\n")
    screen.process.stdin.flush()
    assert screen.until(b"Passphrase: ") == b""
    screen.type(PASSPHRASE + b"\n")
    assert screen.out() == "signed 1\n"


def test_a_new_passphrase_that_is_too_short_is_refused_at_once(screens: list[Screen]) -> None:
    """Before it is asked for a second time."""
    screens.append(screen := Screen(ask([], again="Once more: ", least=8)))
    screen.until(b"Passphrase: ")
    screen.type(b"1234567\n")
    assert screen.out() == "passphrase-too-short\n"
