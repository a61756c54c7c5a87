"""What a turn's attestation is judged by, as far as only living processes can tell it: taken at once, before the answer.

**Direct** is a hook that the client itself called: the process by which the client started it was given the very line that stands
in the client's settings, and what the hook prints goes to the client. A shell that an agent runs stands under the same client, and
can run the same line; but what it prints goes into a file or to another process, and the socket that a client gives to its hook
cannot be opened a second time. A hook of the agent's own that the client was made to run is another matter: SECURITY.md.

The environment is the one that the client was **started with**: it says where the client keeps its transcripts, and whether some
harness's shell started it, also where that one's process has gone.
"""

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memd_client.terminal import MARKERS
from memd_daemon import limits
from memd_daemon.ground import transcripts
from memd_daemon.model.turn import Witness
from memd_daemon.service.clients import Client, command_line
from memd_hooks.events import HookEvent, Moment
from memd_hooks.harness.transcripts import BY_NAME

_LINE_END: Final = "/bin/hook' {event} {harness}"
"""How a line of memd's in a client's settings ends (memd_hooks/launcher.py)."""

_SAYS_ITSELF: Final = frozenset({"CLAUDE_CODE_ENTRYPOINT"})
"""Markers that an editor gives to the client which it starts for a person."""

# linux/netlink.h, linux/sock_diag.h, linux/unix_diag.h
_NETLINK_SOCK_DIAG: Final = 4
_REQUEST: Final = 1
_SHOW_PEER: Final = 4
_PEER: Final = 2
_HEADER: Final = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_ASK: Final = struct.Struct("=BBHiIIii")  # family, protocol, padding, states, inode, what to show, cookie
_TOLD: Final = struct.Struct("=BBBBIII")  # family, type, state, padding, inode, cookie
_ATTRIBUTE: Final = struct.Struct("=HH")  # length with this, type
_INODE: Final = struct.Struct("=I")
_ANY: Final = -1

_SOCKET: Final = "socket"
_PIPE: Final = "pipe"


def live(event: HookEvent, client: Client | None) -> Witness:
    """Of a hook that is being answered."""
    if client is None or not client.pid:
        return _told(event, client)
    environ = started_with(client.pid)
    transcript = BY_NAME.get(event.harness)
    size, inode = transcripts.length(event.transcript_path)
    return Witness(
        peer_pid=client.peer,
        ancestors=client.ancestors,
        entry_point=event.entry_point,
        transcript_path=event.transcript_path,
        prompt_id=event.prompt_id,
        client_pid=client.pid,
        client_started=client.started,
        terminal=client.terminal,
        nested=client.nested,
        marker=next((one for one in MARKERS if environ.get(one) and one not in _SAYS_ITSELF), ""),
        direct=is_direct(client, event.harness),
        transcripts=transcript.folder(environ) if transcript else "",
        transcript_bytes=size,
        transcript_inode=inode,
    )


def spooled(event: HookEvent) -> Witness:
    """Of a hook that wrote its call aside: nobody saw its process, and what it says of itself anybody can write."""
    return Witness(
        entry_point=event.entry_point,
        transcript_path=event.transcript_path,
        prompt_id=event.prompt_id,
        spooled=True,
    )


def _told(event: HookEvent, client: Client | None) -> Witness:
    return Witness(
        peer_pid=client.peer if client else 0,
        ancestors=client.ancestors if client else (),
        entry_point=event.entry_point,
        transcript_path=event.transcript_path,
        prompt_id=event.prompt_id,
    )


def started_with(pid: int) -> Mapping[str, str]:
    """The environment that a process was started with; empty where the system does not tell."""
    try:
        told = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (os.fsdecode(pair).partition("=") for pair in told.split(b"\0") if pair)
    return {name: value for name, _, value in pairs}


def is_direct(client: Client, harness: str) -> bool:
    """Whether the client itself called the hook of a prompt: see the module's docstring."""
    line = _LINE_END.format(event=Moment.PROMPT_SUBMIT, harness=harness)
    return any(word.endswith(line) for word in command_line(client.child)) and _reads(client.pid, client.peer)


def _reads(client: int, peer: int) -> bool:
    """Whether the client holds the other end of what the peer prints to."""
    kind, inode = _end(peer, 1)
    if kind == _PIPE:
        return any(_is_read(client, number) for number in _numbers(client) if _end(client, number) == (_PIPE, inode))
    other = peer_of_socket(inode) if kind == _SOCKET else 0
    return other != 0 and any(_end(client, number) == (_SOCKET, other) for number in _numbers(client))


def _end(pid: int, number: int) -> tuple[str, int]:
    """(what, inode) of a pipe or socket that a process holds under this number; ("", 0) for anything else."""
    try:
        kind, _, rest = os.readlink(f"/proc/{pid}/fd/{number}").partition(":[")  # noqa: PTH115 -- on the hook path
    except OSError:
        return "", 0
    inode = rest.rstrip("]")
    return (kind, int(inode)) if kind in (_PIPE, _SOCKET) and inode.isdecimal() else ("", 0)


def _numbers(pid: int) -> list[int]:
    """The descriptors of a process."""
    try:
        return [int(number) for number in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208 -- on the hook path
    except OSError:
        return []


def _is_read(pid: int, number: int) -> bool:
    """Whether a descriptor is one to read from: both ends of a pipe have one name, and a child may share its parent's end."""
    try:
        told = Path(f"/proc/{pid}/fdinfo/{number}").read_text()
    except OSError:
        return False
    flags = next((line.split()[1] for line in told.splitlines() if line.startswith("flags:")), "1")
    return int(flags, 8) & os.O_ACCMODE == os.O_RDONLY


def peer_of_socket(inode: int) -> int:
    """The inode of the Unix socket at the other end of this one; 0 where there is none, or the system does not tell."""
    ask = _ASK.pack(socket.AF_UNIX, 0, 0, _ANY, inode, _SHOW_PEER, _ANY, _ANY)
    header = _HEADER.pack(_HEADER.size + len(ask), limits.SOCK_DIAG_BY_FAMILY, _REQUEST, 1, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_SOCK_DIAG) as asked:
            asked.settimeout(limits.SOCK_DIAG_WAIT_S)
            asked.sendto(header + ask, (0, 0))
            told = asked.recv(limits.SOCK_DIAG_ANSWER_BYTES)
    except (AttributeError, OSError):  # no netlink on this system, or not for us
        return 0
    return _peer_in(told)


def _peer_in(told: bytes) -> int:
    if len(told) < _HEADER.size or _HEADER.unpack_from(told)[1] != limits.SOCK_DIAG_BY_FAMILY:
        return 0
    at = _HEADER.size + _TOLD.size
    while at + _ATTRIBUTE.size <= len(told):
        size, kind = _ATTRIBUTE.unpack_from(told, at)
        if size < _ATTRIBUTE.size:
            return 0
        if kind == _PEER and len(told) >= at + _ATTRIBUTE.size + _INODE.size:
            return int(_INODE.unpack_from(told, at + _ATTRIBUTE.size)[0])
        at += -(-size // _ATTRIBUTE.size) * _ATTRIBUTE.size  # each begins at such a border
    return 0
