"""The typed client: every verb of memd as a method, for the command line and for other tools to build on.

    from memd_client import Memd

    with Memd() as memd:
        memd.remember("lock_workspace() is not reentrant", kind="gotcha", anchors=["resolver.rs"])
        print(memd.recall("resolver lock").text)

One object holds one connection to the daemon of one home. Requests and replies are the structs of `memd_client.api`; what
`--json` prints is those replies (docs/json.md).

**Who is asking.** Every request carries the current directory and, of the environment, only the named session variables
(`wire.ENVIRONMENT_NAMES`): never a key.

**Starting.** Where nobody answers, a daemon is started and waited for; with ``starts=False`` never. After a deliberate stop
(`run/stopped`) only a request that writes starts one. A daemon of an older version is asked to finish what it has in hand and
replaced, once; a newer one is refused.

**Asked once.** A request is sent again only where the daemon said that it was stopping and took nothing. One whose answer never
came may have been carried out; the error says so.

Raises `MemdError` and nothing else: `Refused` (a rule says no), `BadUsage` (the request itself is wrong), `Unreachable`.
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from memd_client import __version__, address, api, link, spawn, wire

T = TypeVar("T")

START_WAIT_S = 10.0  # a daemon answers within 0.3 s; a machine under load is given thirty times that
ANSWER_WAIT_S = 30.0  # what is slow on purpose has LONG_WAIT_S
LONG_WAIT_S = 3_600.0  # verify and reindex read everything there is
STATUS_WAIT_S = 2.0  # status never queues behind work: what takes longer does not answer
GONE_WAIT_S = 15.0  # a daemon finishes what it has in hand (5 s at most), then closes its indexes
SIGNAL_WAIT_S = 6.0  # a little longer than its own grace for work in hand
POLL_S = 0.01  # the pace at which a daemon that is going is looked at

WRITES = frozenset({"remember", "seal", "act", "enrol"})
"""Verbs that start a daemon also after a deliberate stop."""
PLACELESS = frozenset({"ping", "status", "stop", "fired"})
"""Verbs that are not told where the asker stands: they work in a directory whose name is not UTF-8, or that is gone."""
LOOKING = frozenset({"status", "stop"})
"""Verbs that never start a daemon, and are asked of one of any version."""


class MemdError(Exception):
    """memd did not do it. ``code`` is a stable word, ``message`` one line for a person, ``exit_code`` that of the command."""

    exit_code = wire.EXIT_REFUSED

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Refused(MemdError):
    """A rule says no; the message says why and what to do."""


class BadUsage(MemdError):
    """The request itself is wrong."""

    exit_code = wire.EXIT_USAGE


class Unreachable(MemdError):
    """No daemon answers, and none could be started, or none may be."""

    exit_code = wire.EXIT_UNREACHABLE


_BY_EXIT: dict[int, type[MemdError]] = {
    wire.EXIT_REFUSED: Refused,
    wire.EXIT_USAGE: BadUsage,
    wire.EXIT_UNREACHABLE: Unreachable,
}


class Memd:
    """See the module's docstring. ``home`` defaults to MEMD_HOME, else `~/.local/share/memd`; ``cwd`` to the current directory."""

    def __init__(
        self,
        home: Path | None = None,
        *,
        cwd: Path | None = None,
        environ: Mapping[bytes, bytes] | None = None,
        starts: bool = True,
    ) -> None:
        self.home = home or home_of(environ)
        self._home = os.fsencode(self.home)
        self._cwd = cwd
        self._environ = dict(os.environb if environ is None else environ)
        self._starts = starts
        self._link: link.Link | None = None
        self._replaced = False
        self._overrides_stop = False

    def __enter__(self) -> "Memd":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._link is not None:
            self._link.close()
            self._link = None

    # --- the verbs

    def ping(self) -> api.Pong:
        """The daemon's pid, version and home, and whether its embedding model is in."""
        return self.ask(api.Ping(), api.Pong)

    def remember(
        self,
        content: str,
        *,
        kind: str = "finding",
        priority: str = "medium",
        provenance: str = "agent",
        source: str = "",
        scope: str = "repo",
        under: str = "",
        anchors: Sequence[str] = (),
        proxies: Sequence[str] = (),
        process: bool = False,
        tags: Sequence[str] = (),
        evidence: Sequence[tuple[int, str]] = (),
        derived_from: Sequence[str] = (),
        contradicts: str = "",
        supersedes: str = "",
        same_as: str = "",
        reason: str = "",
        despite: str = "",
        endorse: bool = False,
    ) -> api.Remembered:
        """Records a note. With ``endorse`` nothing is recorded yet: the reply holds the plan that `seal` carries out."""
        request = api.Remember(
            content=content,
            kind=kind,
            priority=priority,
            provenance=provenance,
            source=source,
            scope=scope,
            under=under,
            anchors=list(anchors),
            proxies=list(proxies),
            process=process,
            tags=list(tags),
            evidence=list(evidence),
            derived_from=list(derived_from),
            contradicts=contradicts,
            supersedes=supersedes,
            same_as=same_as,
            reason=reason,
            despite=despite,
            endorse=endorse,
        )
        return self.ask(request, api.Remembered)

    def seal(self, token: bytes, signatures: Sequence[bytes]) -> api.Sealed:
        """Carries out a plan: one signature for each of its events, in their order."""
        return self.ask(api.Seal(token=token, signatures=list(signatures)), api.Sealed)

    def recall(
        self,
        query: str,
        *,
        k: int = 10,
        kind: str = "",
        explain: bool = False,
        all_scopes: bool = False,
        superseded: bool = False,
    ) -> api.RecallReply:
        """The notes nearest in meaning and words; ``text`` is byte for byte what an agent gets."""
        request = api.Recall(query=query, k=k, kind=kind, explain=explain, all_scopes=all_scopes, superseded=superseded)
        return self.ask(request, api.RecallReply)

    def notes(
        self,
        *,
        kind: str = "",
        provenance: str = "",
        all_scopes: bool = False,
        revoked: bool = False,
        superseded: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> api.NotesReply:
        """The notes that hold here, newest first; ``limit`` 0 is all."""
        request = api.ListNotes(
            kind=kind,
            provenance=provenance,
            all_scopes=all_scopes,
            revoked=revoked,
            superseded=superseded,
            limit=limit,
            offset=offset,
        )
        return self.ask(request, api.NotesReply)

    def show(self, ref: str) -> api.ShowReply:
        """One note with everything that is known of it."""
        return self.ask(api.Show(ref=ref), api.ShowReply)

    def log(self, ref: str) -> api.LogReply:
        """The events of one note, oldest first."""
        return self.ask(api.Log(ref=ref), api.LogReply)

    def act(self, act: str, ref: str, *, to: str = "", by: str = "", reason: str = "", sign: bool = False) -> api.Acted:
        """One act on one note: promote, revoke, reinstate, supersede, unsupersede, confirm, done, reopen.

        ``sign``: the caller can sign, so an act on an endorsed note comes back as a plan instead of a proposal.
        """
        return self.ask(api.Act(act=act, ref=ref, to=to, by=by, reason=reason, sign=sign), api.Acted)

    def turns(self, *, session: str = "", limit: int = 50, offset: int = 0) -> api.TurnsReply:
        """What the user said, newest first."""
        return self.ask(api.Turns(session=session, limit=limit, offset=offset), api.TurnsReply)

    def deliveries(self, *, session: str = "", limit: int = 50, offset: int = 0) -> api.DeliveriesReply:
        """What was told to which agent, newest first."""
        return self.ask(api.Deliveries(session=session, limit=limit, offset=offset), api.DeliveriesReply)

    def enrol(self, public: bytes = b"", recovery_public: bytes = b"", terminal: str = "") -> api.EnrolReply:
        """Enrols a person's key; with no ``public`` only asks which are enrolled."""
        request = api.Enrol(public=public, recovery_public=recovery_public, terminal=terminal)
        return self.ask(request, api.EnrolReply)

    def status(self) -> api.StatusReply:
        """How everything is; answered also while the daemon is busy."""
        return self.ask(api.Status(), api.StatusReply, wait_s=STATUS_WAIT_S)

    def fired(self) -> api.FiredReply:
        """When each hook was last answered."""
        return self.ask(api.FiredAt(), api.FiredReply, wait_s=STATUS_WAIT_S)

    def stop(self, *, announced: bool = True) -> int:
        """Asks the daemon to finish what it has in hand and go, and waits until it has; gives its pid.

        ``announced``: a person's deliberate stop, told at the next session start.
        """
        known = address.read(self._home)
        pid = self.ask(api.Stop(announced=announced), api.StopReply).pid
        self.close()
        if known is not None and not _until(lambda: not address.is_alive(known), GONE_WAIT_S):
            raise Unreachable(
                "still-stopping", f"The daemon (pid {pid}) was asked to stop and has not gone yet; `memd logs`."
            )
        return pid

    def restart(self) -> api.Pong:
        """Has the daemon that runs, of whatever version, finish and go, and starts another. No announced stop."""
        self.close()
        found = address.read(self._home)
        if found is not None and address.is_alive(found):
            _end(found)
        return self.begin()

    def begin(self) -> api.Pong:
        """Starts a daemon where none answers, also after a deliberate stop."""
        self._overrides_stop = True
        return self.ping()

    def verify(self) -> api.VerifyReply:
        """Reads everything and checks it against its digests, chains and signatures."""
        return self.ask(api.Verify(), api.VerifyReply, wait_s=LONG_WAIT_S)

    def reindex(self, *, embed: bool = False) -> api.ReindexReply:
        """Makes folds and indexes anew from the log; ``embed`` computes every vector again too."""
        return self.ask(api.Reindex(embed=embed), api.ReindexReply, wait_s=LONG_WAIT_S)

    # --- one request

    def ask(self, request: api.Request, reply: type[T], *, wait_s: float = ANSWER_WAIT_S) -> T:
        """Sends one request, asker filled in, and gives its reply. Raises MemdError."""
        verb = type(request).VERB
        frames = wire.request(verb.encode("ascii"), self._body(request))
        answer = self._answer(verb, frames, wait_s)
        body = answer.body[0] if answer.body else b""
        try:
            if answer.status == wire.DONE:
                return msgspec.msgpack.decode(body, type=reply)
            error = msgspec.msgpack.decode(body, type=api.ErrorOut)
        except msgspec.MsgspecError as unreadable:
            raise Unreachable(
                "unreadable-answer", "The daemon's answer could not be read: `memd restart`."
            ) from unreadable
        raise _BY_EXIT.get(answer.exit_code, Refused)(error.code, error.message)

    def _body(self, request: api.Request) -> bytes:
        if type(request).VERB not in PLACELESS:
            environment = wire.parse_environment(wire.environment_lines(self._environ))
            request = msgspec.structs.replace(request, cwd=self._here(), env=environment)
        try:
            return msgspec.msgpack.encode(request)
        except UnicodeEncodeError as error:
            what = "a text, or the name of the current directory or of a session, is not valid UTF-8"
            raise Refused("not-unicode", f"memd keeps UTF-8 only, and {what}.") from error

    def _here(self) -> str:
        try:
            return str(self._cwd or Path.cwd())
        except OSError as error:
            raise Refused("no-directory", "The current directory is gone: `cd` into one that exists.") from error

    def _answer(self, verb: str, frames: list[bytes], wait_s: float) -> link.Reply:
        for _ in range(2):
            outcome = self._linked(verb).ask(frames, time.monotonic_ns() + int(wait_s * 1e9))
            if isinstance(outcome, link.Reply) and outcome.status != wire.STOPPING:
                return outcome
            self.close()
            if not isinstance(outcome, link.Reply):
                raise _unanswered(outcome, wait_s)
            _until(lambda: address.read(self._home) is None, GONE_WAIT_S)
        raise Unreachable("stopping", "The daemon is stopping; say it again in a moment.")

    # --- the connection

    def _linked(self, verb: str) -> link.Link:
        if self._link is None:
            self._link = self._connected(verb)
        return self._link

    def _connected(self, verb: str) -> link.Link:
        """A connection to a daemon of this version. Raises Refused, Unreachable."""
        try:
            found = self._started(verb) if self._starts and verb not in LOOKING else self._found()
        except spawn.DaemonMismatch as strange:
            return self._without(strange.mismatch.version, verb)
        opened = link.open(found, _deadline(STATUS_WAIT_S))
        if not isinstance(opened, link.Link):
            raise _unanswered(opened, STATUS_WAIT_S) if isinstance(opened, link.Late) else _not_running()
        if verb in LOOKING:
            return opened
        outcome = opened.ask(wire.request(wire.PING, wire.EMPTY_BODY), _deadline(STATUS_WAIT_S))
        if isinstance(outcome, link.Reply) and outcome.version.decode("ascii", "replace") == __version__:
            return opened
        opened.close()
        if isinstance(outcome, link.Reply | link.Mismatch):
            return self._without(outcome.version, verb)
        raise _unanswered(outcome, STATUS_WAIT_S)

    def _found(self) -> address.Address:
        found = address.read(self._home)
        if found is None:
            raise _not_running()
        return found

    def _started(self, verb: str) -> address.Address:
        is_reading = verb not in WRITES and not self._overrides_stop
        if is_reading and address.read(self._home) is None and is_stopped(self.home):
            raise Unreachable(
                "stopped", "memd was stopped on purpose: `memd start`, or the next session start, starts it again."
            )
        try:
            return spawn.ensure_daemon(self._home, START_WAIT_S)
        except spawn.StartFailed as failed:
            raise Unreachable("start-failed", str(failed)) from failed
        except OSError as error:
            why = f"{self.home} cannot be written ({error.strerror or error})"
            raise Unreachable("home-unwritable", f"{why}: check its owner and mode, or set MEMD_HOME.") from error

    def _without(self, version: bytes, verb: str) -> link.Link:
        """A connection after the daemon of another version is gone, when it is older and may be replaced."""
        told = version.decode("ascii", "replace")
        if _order(told) > _order(__version__):
            what = f"A newer memd ({told}) is running here, and this is {__version__}"
            raise Refused("daemon-newer", f"{what}: use the newer one, or stop it with its own `memd stop`.")
        if self._replaced or not self._starts:
            what = f"The daemon that runs is of another version ({told}; this is {__version__})"
            raise Unreachable("daemon-older", f"{what}: `memd restart` replaces it.")
        self._replaced = True
        found = address.read(self._home)
        if found is not None:
            _end(found)
        return self._connected(verb)


def home_of(environ: Mapping[bytes, bytes] | None = None) -> Path:
    """The home that the environment names, existing or not. Raises BadUsage when it names none."""
    home = address.home(None if environ is None else dict(environ))
    if home is None:
        raise BadUsage("no-home", "Neither MEMD_HOME (an absolute path) nor HOME is set: set one of them.")
    return Path(os.fsdecode(home))


def is_stopped(home: Path) -> bool:
    """Whether the daemon was stopped on purpose and has not been started since."""
    return (home / "run" / "stopped").exists()


def _end(found: address.Address) -> None:
    """Has a daemon of whatever version finish and go: by its own verb, else by a signal, a wedged one by the last of them.

    Whether the process is still the one that wrote the address is looked at before each signal.
    """
    body = msgspec.msgpack.encode(api.Stop(announced=False))
    asked = link.request(found, wire.request(wire.STOP, body), _deadline(STATUS_WAIT_S))
    if isinstance(asked, link.Reply) and _until(lambda: not address.is_alive(found), GONE_WAIT_S):
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if address.is_alive(found):
            os.kill(found.pid, number)
            _until(lambda: not address.is_alive(found), SIGNAL_WAIT_S)


def _until(condition: Callable[[], bool], wait_s: float) -> bool:
    end = time.monotonic() + wait_s
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(POLL_S)
    return True


def _deadline(wait_s: float) -> int:
    return time.monotonic_ns() + int(wait_s * 1e9)


def _order(version: str) -> tuple[int, ...]:
    """Versions in their order; what is no number counts as 0, so that an unreadable version is an old one."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _not_running() -> Unreachable:
    return Unreachable("not-running", "memd is not running: `memd start` starts it.")


def _unanswered(outcome: object, wait_s: float) -> Unreachable:
    if isinstance(outcome, link.Late):
        what = f"The daemon did not answer within {wait_s:g} s"
        return Unreachable(
            "silent", f"{what}; what was asked may have been done all the same. `memd doctor` looks into it."
        )
    if isinstance(outcome, link.Mismatch):
        return Unreachable("daemon-mismatch", "The daemon speaks another protocol: `memd restart` replaces it.")
    what = "The daemon went away before it answered; what was asked may have been done all the same"
    return Unreachable("gone", f"{what}: look with `memd list` or `memd log`, then say it again.")
