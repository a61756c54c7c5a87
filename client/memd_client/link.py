"""One request, one deadline, and four things that can come of it: Reply | Unreachable | Mismatch | Late. Nothing here
raises.

- Reply (wire.py): a daemon of this protocol answered; its status says how.
- Unreachable: there is nobody. No socket, refused, another user's, not ZMTP, closed before the answer, or silent while
  the process that wrote the address is gone (a descriptor that outlived its daemon). Starting one may help.
- Mismatch: somebody answers, in another protocol.
- Late: somebody is there and did not answer by the deadline.

Alive means *answers*: pid and start time are looked at only to tell a silent daemon from a dead one, since neither can
be judged from within another PID namespace, where a container shares the home.
"""

import posix

from memd_client import address as _address
from memd_client import wire, zmtp
from memd_client.address import Address
from memd_client.wire import Reply as Reply


class Unreachable:
    """Nobody is there; `reason` is for people."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Mismatch:
    """A peer of another protocol: the constant and the version it gave."""

    __slots__ = ("protocol", "version")

    def __init__(self, protocol: bytes, version: bytes) -> None:
        self.protocol = protocol
        self.version = version


class Late:
    """The deadline passed without an answer."""

    __slots__ = ()


Outcome = Reply | Unreachable | Mismatch | Late


class Link:
    """One connection to a daemon. `open` it, `ask` as often as needed, `tell` what needs no answer, `close` it.

    Who has several requests in flight tells them, and hears what came whenever poll says so of `fileno`.
    """

    __slots__ = ("_address", "_dealer")

    def __init__(self, address: Address, dealer: zmtp.Dealer) -> None:
        self._address = address
        self._dealer = dealer

    def ask(self, frames: list[bytes], deadline_ns: int) -> Outcome:
        """Send one request (wire.request, wire.hook_request) and wait for its reply until CLOCK_MONOTONIC `deadline_ns`."""
        try:
            self._dealer.send(frames, deadline_ns)
            protocol, reply = wire.parse_reply(self._dealer.receive(deadline_ns))
        except (OSError, wire.Malformed) as error:
            return _failure(self._address, error)
        return reply if protocol == wire.PROTOCOL else Mismatch(protocol, reply.version)

    def tell(self, frames: list[bytes], deadline_ns: int) -> bool:
        """Send one message that nobody answers; whether it went out."""
        try:
            self._dealer.send(frames, deadline_ns)
        except OSError:
            return False
        return True

    def fileno(self) -> int:
        """The descriptor, to be polled."""
        return self._dealer.fileno()

    def heard(self, deadline_ns: int) -> list[Reply] | Unreachable | Mismatch | Late:
        """The replies that have come whole by now; none where only a part has. Waits for nothing where poll told of something."""
        try:
            parsed = [wire.parse_reply(frames) for frames in self._dealer.arrived(deadline_ns)]
        except (OSError, wire.Malformed) as error:
            return _failure(self._address, error)
        for protocol, reply in parsed:
            if protocol != wire.PROTOCOL:
                return Mismatch(protocol, reply.version)
        return [reply for _, reply in parsed]

    def close(self) -> None:
        """Close the connection; what was sent still arrives."""
        self._dealer.close()


def open(address: Address, deadline_ns: int) -> Link | Unreachable | Late:
    """Connect to the daemon at `address` and shake hands, by CLOCK_MONOTONIC `deadline_ns`."""
    try:
        dealer = zmtp.Dealer(address.socket, deadline_ns)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        return _failure(address, error)
    if dealer.peer_uid() not in (None, posix.geteuid()):
        dealer.close()
        return Unreachable("another user listens at the address")
    return Link(address, dealer)


def request(address: Address, frames: list[bytes], deadline_ns: int) -> Outcome:
    """One request on a connection of its own."""
    link = open(address, deadline_ns)
    if not isinstance(link, Link):
        return link
    try:
        return link.ask(frames, deadline_ns)
    finally:
        link.close()


def _failure(address: Address, error: Exception) -> Unreachable | Late:
    if isinstance(error, TimeoutError):
        return Late() if _address.is_alive(address) else Unreachable("the daemon that wrote the address is gone")
    return Unreachable(str(error))
