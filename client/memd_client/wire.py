"""The protocol between memd's daemon and everything that asks it: this docstring is its one specification.

**Transport.** ZeroMQ multipart messages over one Unix socket, bound by the daemon as a ROUTER. Clients are DEALERs
(zmtp.py speaks that without libzmq). Who may ask: the user who owns the daemon; the socket is 0600 in a directory 0700,
and a client refuses a peer of another uid. Where the socket lies: address.py reads it; nobody but the daemon computes a
path.

**Request**, as a DEALER sends it (a ROUTER sees the peer's identity in front):

| # | frame | bytes |
|---|-------|-------|
| 0 | delimiter | empty |
| 1 | protocol | `memd/1` |
| 2 | verb | ASCII, at most 32 bytes |
| 3… | the verb's frames | below |

Verb `hook` is v1 for ever: a daemon of any later protocol answers a v1 hook in v1.

| # | frame | bytes |
|---|-------|-------|
| 3 | request id | 16 random bytes; a prompt is stored once per request id, however often it arrives |
| 4 | deadline | CLOCK_MONOTONIC in ns, ASCII decimal: an answer that is ready later is not sent |
| 5 | flags | 1 byte; bit 0 probe (answered as always, nothing recorded but last-fired); other bits are ignored |
| 6 | harness | ASCII, at most 64 bytes, as given on the command line |
| 7 | event | ASCII, at most 64 bytes, a memd event name |
| 8 | cwd | bytes of the path, empty when it is gone |
| 9 | environment | `NAME=VALUE\\n` lines, only of ENVIRONMENT_NAMES; a value with a newline is left out |
| 10 | stdin | raw, as the harness wrote it |

Verb `receipt` (client to daemon, never answered): frame 3 is the request id whose stdout was written out whole.
Verb `mcp` (carried.py; mcp.py sends it): one message of the Model Context Protocol. Many may be in flight on one connection,
and are answered in any order.

| # | frame | bytes |
|---|-------|-------|
| 3 | session | 16 random bytes of the carrier's process: one client's MCP session |
| 4 | number | ASCII decimal, 1 for the session's first message and one more for each; the reply repeats it |
| 5 | cwd | as above |
| 6 | environment | as above |
| 7 | message | one JSON-RPC message, raw, at most MCP_MESSAGE_MAX_BYTES; empty: the session has ended |

A session is the daemon's to keep or to forget: a message of one that it does not know (it was restarted meanwhile) is
served as one that goes on. The verb asks for no version of memd but for this protocol: a newer daemon serves an older
carrier.

Every other verb (`ping`, `status`, `stop`, and the commands' verbs, which api.py lists) has one frame 3, a msgpack
body.

**Reply**, as a DEALER receives it:

| # | frame | bytes |
|---|-------|-------|
| 0 | delimiter | empty |
| 1 | protocol | the daemon's own constant (`memd/1` to a v1 hook) |
| 2 | daemon version | ASCII |
| 3 | status | 1 byte, see the statuses below |
| 4… | body | `hook`: exit code (ASCII decimal), stdout, stderr (always empty today); `mcp`: below; else one msgpack frame |

A status other than DONE has as body one msgpack map {code, message}, except to `hook`, which then gets exit code 0 and
empty stdout. A client shows or does nothing with a reply of another protocol but say so.

The body for `mcp`: the number, then no or more messages, each to be written as one line; with another status than DONE
the number, then a sentence in UTF-8 that says why not (STOPPING: the daemon took nothing, and it may be sent again).

**Forward rule.** Frames after the last one named here are ignored; a message with fewer is malformed. A malformed
request is answered with USAGE where its protocol and verb can be read, else with nothing.

**Bounds**, both directions: FRAMES_MAX frames, FRAME_MAX_BYTES a frame, MESSAGE_MAX_BYTES a message. What breaks one is
dropped together with its connection.

**Spool file.** What could not be delivered or answered, one file each, mode 0600 in `<MEMD_HOME>/spool/` (0700). Name:
wall time in ns as 20 digits, `-`, request id in hex, `.spool`; names sort by time. A name that starts with `.` is half
written and not to be read. Content: the line `memd/1 spool\\n`, then seven netstrings (`<length>:<bytes>,`): request id
in hex, wall time in ns, harness, event, cwd, environment, stdin, with the meanings above; nothing follows.

**Files beside the socket.** `run/address`: address.py. `run/unreachable-until`: the breaker, a CLOCK_MONOTONIC ns in
ASCII decimal, written by a hook that missed its deadline. `run/starting`: created by who starts a daemon, removed by
the daemon once it has written its address (spawn.py). `run/stopped`: written by a deliberate stop, with when and by
which session in JSON for the next daemon to tell, removed by a daemon that starts.

Stdlib only, and of that only what costs nothing: this module is imported by every hook.
"""

PROTOCOL = b"memd/1"

# Verbs the wire itself knows; the commands' verbs stand in api.py.
HOOK = b"hook"
RECEIPT = b"receipt"
MCP = b"mcp"
PING = b"ping"
STOP = b"stop"

# Statuses of a reply, one byte on the wire.
DONE = 0
REFUSED = 1  # a rule says no; the message says why and what to do
USAGE = 2  # the request itself is wrong
STOPPING = 3  # the daemon is going away and took nothing
FAULT = 4  # the daemon failed; nothing was changed

EXIT_DONE = 0
EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_CODES = {
    DONE: EXIT_DONE,
    REFUSED: EXIT_REFUSED,
    USAGE: EXIT_USAGE,
    STOPPING: EXIT_UNREACHABLE,
    FAULT: EXIT_REFUSED,
}

EMPTY_BODY = b"\x80"  # msgpack for a map of nothing: the body of a verb that takes nothing
PROBE = 1  # bit 0 of the flags

# Bounds. A prompt with a pasted log, or the whole file in a read's result, fits into 8 MiB; a reply that lists
# everything into 16.
REQUEST_ID_BYTES = 16
DECIMAL_MAX_BYTES = 20  # any 64-bit number
VERB_MAX_BYTES = 32
NAME_MAX_BYTES = 64
CWD_MAX_BYTES = 8_192  # PATH_MAX is 4,096 on Linux
ENVIRONMENT_MAX_BYTES = 16_384
STDIN_MAX_BYTES = 8 * 1024 * 1024
# Of one JSON-RPC message of a client: a note has 8 KiB, and a hundred times that is no tool call.
MCP_MESSAGE_MAX_BYTES = 1024 * 1024
STDOUT_MAX_BYTES = 256 * 1024  # five times the longest text any harness passes on whole
FRAMES_MAX = 32
FRAME_MAX_BYTES = 16 * 1024 * 1024
MESSAGE_MAX_BYTES = FRAME_MAX_BYTES + 64 * 1024

# Deadlines of a hook, from its first instruction to its end. The shortest timeout a harness sets by default is 1 s
# (session end).
HOOK_DEADLINE_MS = 300
STARTING_DEADLINE_MS = (
    1_500  # session start and subagent start carry the rules: they wait for a daemon that is starting
)
BREAKER_DEADLINE_MS = 50
RESERVE_MS = 20  # of each deadline, kept for what follows the answer or the lack of one: stdout or the spool
BREAKER_S = 30
POLL_MS = 5  # between two looks at a daemon that is starting
KEEP_MS = 250  # beyond the deadline, for a spool write under way: thirty hooks at once on two cores must lose no prompt
READ_BYTES = 65_536  # what a pipe holds
TICK_MS = 10  # the self-kill repeats: a signal that falls just before a blocking call would be lost

# Events that carry the rules wait for a starting daemon. A session's start, also the one after a compaction, is spared by the
# breaker; only the first starts a daemon that was stopped on purpose.
SESSION_START = "session-start"
UNSHORTENED_EVENTS = (SESSION_START, "post-compaction")
WAITING_EVENTS = (*UNSHORTENED_EVENTS, "subagent-start")
GIT_COMMIT = "git-commit"  # the only event without a stdin
# What must not be lost when it can't be delivered: a user's turn, a commit, the end of a session or of a turn.
SPOOLED_EVENTS = ("prompt-submit", GIT_COMMIT, "session-end", "stop")

SPOOL_MAX_BYTES = (
    20 * 1024 * 1024
)  # the daemon drops what is older than SPOOL_MAX_AGE_S; a hook only refuses to grow it further
SPOOL_MAX_AGE_S = 24 * 3600
SPOOL_SUFFIX = b".spool"
LOST_SUFFIX = (
    b".lost"  # an empty file in place of a prompt or a commit for whose bytes there was no room: it is counted
)
LOST_EVENTS = ("prompt-submit", GIT_COMMIT)
REFUSED_S = 30  # after a daemon refused to serve, hooks other than a session's start leave it at that for so long
SPOOL_MAGIC = b"memd/1 spool\n"
SPOOL_FIELDS = 7
# One file: a call's frames, and their lengths around them.
SPOOLED_MAX_BYTES = STDIN_MAX_BYTES + CWD_MAX_BYTES + ENVIRONMENT_MAX_BYTES + 1024

# Session ids and client markers, and what git tells its hooks. Never a key, and nothing that is not named here leaves
# the process.
ENVIRONMENT_NAMES = (
    b"CLAUDECODE",
    b"CLAUDE_CODE_SESSION_ID",
    b"CLAUDE_CODE_ENTRYPOINT",
    b"CLAUDE_CODE_CHILD_SESSION",
    b"CLAUDE_PID",
    b"CLAUDE_PROJECT_DIR",
    b"AI_AGENT",
    b"AGENT",
    b"CODEX_SESSION_ID",
    b"CODEX_THREAD_ID",
    b"CODEX_TOOL_CALL_ID",
    b"CODEX_CI",
    b"GEMINI_SESSION_ID",
    b"GEMINI_PROJECT_DIR",
    b"GEMINI_CWD",
    b"COPILOT_CLI",
    b"COPILOT_AGENT_SESSION_ID",
    b"COPILOT_PROJECT_DIR",
    b"OPENCODE",
    b"OPENCODE_PID",
    b"GIT_DIR",
    b"GIT_WORK_TREE",
    b"GIT_COMMON_DIR",
    b"GIT_REFLOG_ACTION",
)


class Malformed(ValueError):
    """A message or spool file that the protocol does not allow."""


class Hook:
    """One hook call as it crosses the wire: everything raw, nothing parsed. `environment` holds the frame's lines."""

    __slots__ = ("cwd", "deadline_ns", "environment", "event", "flags", "harness", "request_id", "stdin")

    def __init__(
        self,
        request_id: bytes,
        deadline_ns: int,
        flags: int,
        harness: str,
        event: str,
        cwd: bytes,
        environment: bytes,
        stdin: bytes,
    ) -> None:
        self.request_id = request_id
        self.deadline_ns = deadline_ns
        self.flags = flags
        self.harness = harness
        self.event = event
        self.cwd = cwd
        self.environment = environment
        self.stdin = stdin

    @property
    def is_probe(self) -> bool:
        """Whether this call only tests the path: answered as always, nothing recorded but last-fired."""
        return bool(self.flags & PROBE)


class Spooled:
    """What a spool file holds: a hook call and the wall time (ns since 1970) at which it was made."""

    __slots__ = ("at_ns", "hook")

    def __init__(self, hook: Hook, at_ns: int) -> None:
        self.hook = hook
        self.at_ns = at_ns


class Reply:
    """A daemon's answer: its version, a status, and the body's frames."""

    __slots__ = ("body", "status", "version")

    def __init__(self, version: bytes, status: int, body: list[bytes]) -> None:
        self.version = version
        self.status = status
        self.body = body

    @property
    def exit_code(self) -> int:
        """The exit code of a command that got this reply; a status of a later daemon counts as refused."""
        return EXIT_CODES.get(self.status, EXIT_REFUSED)


def request(verb: bytes, *frames: bytes) -> list[bytes]:
    """The frames a DEALER sends for `verb`; for a msgpack verb `frames` is its one body."""
    return [b"", PROTOCOL, verb, *frames]


def hook_request(hook: Hook) -> list[bytes]:
    """The frames of one hook call."""
    return request(
        HOOK,
        hook.request_id,
        b"%d" % hook.deadline_ns,
        bytes((hook.flags & 0xFF,)),
        hook.harness.encode("ascii"),
        hook.event.encode("ascii"),
        hook.cwd,
        hook.environment,
        hook.stdin,
    )


def reply(version: bytes, status: int, *body: bytes) -> list[bytes]:
    """The frames a daemon answers with (the ROUTER puts the identity in front)."""
    return [b"", PROTOCOL, version, bytes((status,)), *body]


def hook_reply(version: bytes, stdout: bytes, status: int = DONE) -> list[bytes]:
    """The answer to a hook call: exit code 0, `stdout` to be written as it is, no stderr."""
    return reply(version, status, b"0", stdout, b"")


def parse_request(frames: list[bytes]) -> tuple[bytes, bytes, list[bytes]]:
    """Protocol, verb and the verb's frames of a request (identity already taken off).

    Another protocol than PROTOCOL is returned, not refused: the daemon answers it, and its answer names its own.
    Raises Malformed.
    """
    if not 3 <= len(frames) <= FRAMES_MAX or frames[0]:
        raise Malformed("a request is an empty delimiter, a protocol, a verb and the verb's frames")
    protocol, verb = frames[1], frames[2]
    if not 1 <= len(verb) <= VERB_MAX_BYTES or not verb.isascii():
        raise Malformed("a verb is 1 to 32 ASCII bytes")
    return protocol, verb, frames[3:]


def parse_hook(body: list[bytes]) -> Hook:
    """The hook call in the frames that follow the verb. Raises Malformed."""
    if len(body) < 8:
        raise Malformed("a hook call has 8 frames after its verb")
    request_id, deadline, flags, harness, event, cwd, environment, stdin = body[:8]
    if len(flags) != 1:
        raise Malformed("the flags are one byte")
    return _checked_hook(request_id, decimal(deadline), flags[0], harness, event, cwd, environment, stdin)


def parse_receipt(body: list[bytes]) -> bytes:
    """The request id in a receipt's frames. Raises Malformed."""
    if not body or len(body[0]) != REQUEST_ID_BYTES:
        raise Malformed("a receipt holds one request id of 16 bytes")
    return body[0]


def parse_reply(frames: list[bytes]) -> tuple[bytes, Reply]:
    """Protocol and content of a reply. Raises Malformed.

    Of another protocol only frames 1 and 2 are believed: the status is then FAULT and the body empty.
    """
    if len(frames) < 3 or frames[0]:
        raise Malformed("a reply is an empty delimiter, a protocol, a version, a status and a body")
    protocol, version = frames[1], frames[2]
    if protocol != PROTOCOL:
        return protocol, Reply(version, FAULT, [])
    if len(frames) < 4 or len(frames[3]) != 1:
        raise Malformed("a status is one byte")
    return protocol, Reply(version, frames[3][0], frames[4:])


def environment_lines(environ: dict[bytes, bytes]) -> bytes:
    """The environment frame: of `environ` only ENVIRONMENT_NAMES, in that order, lines that hold a newline left out."""
    lines = b""
    for name in ENVIRONMENT_NAMES:
        value = environ.get(name)
        if value is not None and b"\n" not in value:
            line = b"%b=%b\n" % (name, value)
            if len(lines) + len(line) <= ENVIRONMENT_MAX_BYTES:
                lines += line
    return lines


def parse_environment(lines: bytes) -> dict[str, str]:
    """NAME → VALUE of an environment frame, only of the names this protocol lists; the last of a doubled name counts."""
    pairs = (line.partition(b"=") for line in lines.split(b"\n"))
    return {
        name.decode("ascii"): value.decode("utf-8", "surrogateescape")
        for name, sign, value in pairs
        if sign and name in ENVIRONMENT_NAMES
    }


def spool_name(request_id: bytes, at_ns: int) -> bytes:
    """The file name of a spooled call; names sort by the time they carry."""
    return b"%020d-%b%b" % (at_ns, request_id.hex().encode(), SPOOL_SUFFIX)


def encode_spool(spooled: Spooled) -> bytes:
    """The content of a spool file. The deadline and the flags are not kept: both have passed."""
    hook = spooled.hook
    fields = (
        hook.request_id.hex().encode(),
        b"%d" % spooled.at_ns,
        hook.harness.encode("ascii"),
        hook.event.encode("ascii"),
        hook.cwd,
        hook.environment,
        hook.stdin,
    )
    return SPOOL_MAGIC + b"".join(b"%d:%b," % (len(field), field) for field in fields)


def decode_spool(content: bytes) -> Spooled:
    """What a spool file holds; deadline 0 and no flags. Raises Malformed, also for a file that was cut off."""
    if not content.startswith(SPOOL_MAGIC):
        raise Malformed("not a spool file of this protocol")
    fields, at = [], len(SPOOL_MAGIC)
    for _ in range(SPOOL_FIELDS):
        colon = content.find(b":", at, at + 12)
        end = colon + 1 + decimal(content[at:colon]) if colon > at else len(content)
        if content[end : end + 1] != b",":
            raise Malformed("a spool file that was cut off or is damaged")
        fields.append(content[colon + 1 : end])
        at = end + 1
    if at != len(content):
        raise Malformed("a spool file with bytes after its end")
    request_id, at_ns, harness, event, cwd, environment, stdin = fields
    try:
        raw_id = bytes.fromhex(request_id.decode("ascii"))
    except ValueError as error:
        raise Malformed("a request id is 32 hex digits") from error
    return Spooled(_checked_hook(raw_id, 0, 0, harness, event, cwd, environment, stdin), decimal(at_ns))


def _checked_hook(
    request_id: bytes,
    deadline_ns: int,
    flags: int,
    harness: bytes,
    event: bytes,
    cwd: bytes,
    environment: bytes,
    stdin: bytes,
) -> Hook:
    if len(request_id) != REQUEST_ID_BYTES:
        raise Malformed("a request id is 16 bytes")
    for name in (harness, event):
        if not 1 <= len(name) <= NAME_MAX_BYTES or not name.isascii():
            raise Malformed("harness and event are 1 to 64 ASCII bytes")
    if len(cwd) > CWD_MAX_BYTES or len(environment) > ENVIRONMENT_MAX_BYTES or len(stdin) > STDIN_MAX_BYTES:
        raise Malformed("a frame is over its bound")
    return Hook(request_id, deadline_ns, flags, harness.decode("ascii"), event.decode("ascii"), cwd, environment, stdin)


def decimal(digits: bytes) -> int:
    """A number as the wire writes it. Raises Malformed."""
    # int() alone would also take signs, blanks and underscores.
    if not digits.isdigit() or len(digits) > DECIMAL_MAX_BYTES:
        raise Malformed("not a decimal number of at most 20 digits")
    return int(digits)
