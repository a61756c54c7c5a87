"""The typed client: every verb of memd as a method, for the command line and for other tools to build on.

    from memd_client import Memd

    with Memd() as memd:
        memd.remember("lock_workspace() is not reentrant", kind="gotcha", anchors=["resolver.rs"])
        print(memd.recall("resolver lock").text)

One object holds one connection to the daemon of one home. Requests and replies are the structs of `memd_client.api`; what
`--json` prints is those replies (docs/json.md).

**Who is asking.** Every request carries the current directory and, of the environment, only the named session variables
(`wire.ENVIRONMENT_NAMES`): never a key.

**Starting.** Where nobody answers, a daemon is started and waited for (reach.py); with ``starts=False`` never.

Raises `MemdError` and nothing else: `Refused` (a rule says no), `BadUsage` (the request itself is wrong), `Unreachable`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from memd_client import api, wire
from memd_client.reach import (
    ANSWER_WAIT_S,
    LONG_WAIT_S,
    PLACELESS,
    SIGNAL_WAIT_S,
    STATUS_WAIT_S,
    Reach,
    home_of,
    mark_stopped,
)
from memd_client.reach import BadUsage as BadUsage
from memd_client.reach import MemdError as MemdError
from memd_client.reach import Refused as Refused
from memd_client.reach import Unreachable as Unreachable

T = TypeVar("T")

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
        self._cwd = cwd
        self._environ = dict(os.environb if environ is None else environ)
        self._reach = Reach(self.home, starts=starts)

    def __enter__(self) -> "Memd":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        self._reach.close()

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
        reason: str = "",
        despite: str = "",
        endorse: bool = False,
        same_as: str = "",
        level: str = "",
        slug: str = "",
        sources: Sequence[str] = (),
        source_ref: str = "",
        distinct: bool = False,
        why: str = "",
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
            reason=reason,
            despite=despite,
            endorse=endorse,
            same_as=same_as,
            level=level,
            slug=slug,
            sources=list(sources),
            source_ref=source_ref,
            distinct=distinct,
            why=why,
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
        all_scopes: bool = False,
        superseded: bool = False,
    ) -> api.RecallReply:
        """The notes nearest in meaning and words; ``text`` is byte for byte what an agent gets."""
        request = api.Recall(query=query, k=k, kind=kind, all_scopes=all_scopes, superseded=superseded)
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

    def log(self, ref: str, *, limit: int = 0, offset: int = 0) -> api.LogReply:
        """Everything that happened to one note: of the newest a page, oldest first; ``limit`` 0 is all."""
        return self.ask(api.Log(ref=ref, limit=limit, offset=offset), api.LogReply)

    def decisions(
        self, ref: str = "", *, around: int = 3, all_scopes: bool = False, limit: int = 50, offset: int = 0
    ) -> api.DecisionsReply:
        """The decisions that hold here, oldest first; with ``ref`` that one and ``around`` neighbours on either side."""
        request = api.Decisions(ref=ref, around=around, all_scopes=all_scopes, limit=limit, offset=offset)
        return self.ask(request, api.DecisionsReply)

    def trace(self, ref: str) -> api.TraceReply:
        """What a note stands on, down to the user's own words, and what stands on it."""
        return self.ask(api.Trace(ref=ref), api.TraceReply)

    def act(
        self,
        act: str,
        ref: str,
        *,
        to: str = "",
        by: str = "",
        reason: str = "",
        sign: bool = False,
        text: str = "",
        absorb: Sequence[str] = (),
        expected_revision: int = 0,
        despite: str = "",
        resolution: str = "",
        of: Sequence[str] = (),
        evidence: Sequence[tuple[int, str]] = (),
        priority: str = "",
        tags: Sequence[str] = (),
        untags: Sequence[str] = (),
        anchors: Sequence[str] = (),
        scope: str = "",
        under: str = "",
    ) -> api.Acted:
        """One act on one note; `api.Act` says which act takes what.

        ``sign``: the caller can sign, so an act on an endorsed note comes back as a plan instead of a proposal.
        """
        request = api.Act(
            act=act,
            ref=ref,
            to=to,
            by=by,
            reason=reason,
            sign=sign,
            text=text,
            absorb=list(absorb),
            expected_revision=expected_revision,
            despite=despite,
            resolution=resolution,
            of=list(of),
            evidence=list(evidence),
            priority=priority,
            tags=list(tags),
            untags=list(untags),
            anchors=list(anchors),
            scope=scope,
            under=under,
        )
        return self.ask(request, api.Acted)

    def turns(self, *, session: str = "", turn: int = 0, limit: int = 50, offset: int = 0) -> api.TurnsReply:
        """What the user said, newest first; with ``turn`` what was said in that one."""
        request = api.Turns(session=session, turn=turn, limit=limit, offset=offset)
        return self.ask(request, api.TurnsReply)

    def deliveries(
        self, *, session: str = "", told: bool = False, limit: int = 50, offset: int = 0
    ) -> api.DeliveriesReply:
        """What was told to which agent, newest first; but with ``told`` also the moments at which all that came up was left out."""
        request = api.Deliveries(session=session, told=told, limit=limit, offset=offset)
        return self.ask(request, api.DeliveriesReply)

    def why(
        self,
        ref: str,
        *,
        session: str = "",
        agent: str = "",
        at: Sequence[str] = (),
        paths: Sequence[str] = (),
        prompt: str = "",
        limit: int = 20,
    ) -> api.WhyReply:
        """Why a note was told in a session or not, and what would be decided now; `api.Why` says what is asked by what.

        Nothing of it is recorded, the prompt neither.
        """
        request = api.Why(
            ref=ref, session=session, agent=agent, at=tuple(at), paths=tuple(paths), prompt=prompt, limit=limit
        )
        return self.ask(request, api.WhyReply)

    def stale(self, *, limit: int = 50, offset: int = 0) -> api.StaleReply:
        """The notes that hold here and whose files have changed since, the most delivered first; ``limit`` 0 is all."""
        return self.ask(api.Stale(limit=limit, offset=offset), api.StaleReply, wait_s=LONG_WAIT_S)

    def enrol(
        self,
        public: bytes = b"",
        recovery_public: bytes = b"",
        terminal: str = "",
        *,
        signer: bytes = b"",
        rejects: Sequence[bytes] = (),
        acts: bool = False,
    ) -> api.EnrolReply:
        """Which keys there are; with ``public`` or ``rejects`` also the plan by which a key is enrolled, and others rejected.

        ``signer``: the public key that will sign, an enrolled one or a recovery code's; b"" is the new key itself. ``acts``: tell
        what each key signed.
        """
        request = api.Enrol(
            public=public,
            recovery_public=recovery_public,
            terminal=terminal,
            signer=signer,
            rejects=list(rejects),
            acts=acts,
        )
        return self.ask(request, api.EnrolReply)

    def settings(self, key: str = "") -> api.SettingsReply:
        """Every setting as it stands; with ``key`` that one."""
        return self.ask(api.Settings(key=key), api.SettingsReply)

    def set(self, key: str, how: str = "set", values: Sequence[str] = (), *, sign: bool = False) -> api.ChangedSetting:
        """Changes a setting: `set`, `unset`, or for a list of repositories `add` and `remove`.

        With ``sign`` nothing is recorded yet: the reply holds the plan that `seal` carries out.
        """
        return self.ask(api.ChangeSetting(key=key, how=how, values=list(values), sign=sign), api.ChangedSetting)

    def settings_log(self, key: str = "") -> api.SettingsLogReply:
        """Every change of a setting, oldest first."""
        return self.ask(api.SettingsLog(key=key), api.SettingsLogReply)

    def policies(self) -> api.PoliciesReply:
        """The policy files, looked at anew: which of them count, and why the others do not."""
        return self.ask(api.Policies(), api.PoliciesReply)

    def check_policy(self, name: str, content: bytes) -> api.PolicyChecked:
        """What a person has to know to sign these bytes as a policy file; refused where they make none."""
        return self.ask(api.PolicyCheck(name=name, content=content), api.PolicyChecked)

    def status(self) -> api.StatusReply:
        """How everything is; answered also while the daemon is busy."""
        return self.ask(api.Status(), api.StatusReply, wait_s=STATUS_WAIT_S)

    def fired(self) -> api.FiredReply:
        """When each hook was last answered."""
        return self.ask(api.FiredAt(), api.FiredReply, wait_s=STATUS_WAIT_S)

    def stop(self, *, announced: bool = True) -> int:
        """Asks the daemon to finish what it has in hand and go, and waits until it has; gives its pid. One that is silent is ended.

        ``announced``: a person's deliberate stop, which only a session's start, `begin` or a write ends.
        """
        known = self._reach.announced()
        request = api.Stop(announced=announced, env=self._named_sessions())
        try:
            pid = self.ask(request, api.StopReply, wait_s=SIGNAL_WAIT_S).pid
        except Unreachable as nobody:
            if nobody.code != "silent" or known is None:
                raise
            pid = known.pid
            if announced:
                mark_stopped(self.home)
            self._reach.end()
        if not self._reach.ended(known):
            raise Unreachable(
                "still-stopping", f"The daemon (pid {pid}) was asked to stop and has not gone yet; `memd logs`."
            )
        return pid

    def restart(self) -> api.Pong:
        """Has the daemon that runs, of whatever version, finish and go, and starts another. No announced stop."""
        self._reach.end()
        return self.begin()

    def begin(self) -> api.Pong:
        """Starts a daemon where none answers, also after a deliberate stop."""
        self._reach.override_stop()
        return self.ping()

    def verify(self) -> api.VerifyReply:
        """Reads everything and checks it against its digests, chains and signatures."""
        return self.ask(api.Verify(), api.VerifyReply, wait_s=LONG_WAIT_S)

    def reindex(self, *, embed: bool = False, despite_damage: bool = False) -> api.ReindexReply:
        """Makes folds and indexes anew from the log; ``embed`` computes every vector again too.

        Raises Refused where the log is not whole, unless ``despite_damage``.
        """
        request = api.Reindex(embed=embed, despite_damage=despite_damage)
        return self.ask(request, api.ReindexReply, wait_s=LONG_WAIT_S)

    def backup(self, path: str = "", *, job: str = "") -> api.BackupReply:
        """Begins a backup into a new file; with ``job``, which the first answer gave, how far it is."""
        return self.ask(api.Backup(path=path, job=job), api.BackupReply)

    def export(self, token: str = "", *, drop: bool = False) -> api.ExportReply:
        """Begins an export; with ``token`` its next piece, with ``drop`` its end."""
        return self.ask(api.Export(token=token, drop=drop), api.ExportReply)

    # --- one request

    def ask(self, request: api.Request, reply: type[T], *, wait_s: float = ANSWER_WAIT_S) -> T:
        """Sends one request, asker filled in, and gives its reply. Raises MemdError."""
        verb = type(request).VERB
        frames = wire.request(verb.encode("ascii"), self._body(request))
        answer = self._reach.answer(verb, frames, wait_s)
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
            request = msgspec.structs.replace(request, cwd=self._here(), env=self._named_sessions())
        try:
            return msgspec.msgpack.encode(request)
        except UnicodeEncodeError as error:
            what = "a text, or the name of the current directory or of a session, is not valid UTF-8"
            raise Refused("not-unicode", f"memd keeps UTF-8 only, and {what}.") from error

    def _named_sessions(self) -> dict[str, str]:
        """The session variables of the environment, and nothing else of it."""
        return wire.parse_environment(wire.environment_lines(self._environ))

    def _here(self) -> str:
        try:
            return str(self._cwd or Path.cwd())
        except OSError as error:
            raise Refused("no-directory", "The current directory is gone: `cd` into one that exists.") from error
