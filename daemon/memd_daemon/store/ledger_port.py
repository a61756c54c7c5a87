"""The ledger's port: what is told to whom, apart from the store (storage.md). Two adapters, one contract suite
(tests/store/ledger_contract.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from memd_daemon.model.burst import BurstNote
from memd_daemon.model.delivery import Context, Delivery, Hold, HoldOutcome
from memd_daemon.model.stale_flag import StaleFlag
from memd_daemon.model.tool_result import ToolResult


class LedgerSnapshot(Protocol):
    """What a decision asks of the ledger, all of one moment."""

    def context(self, session: str, agent: str) -> Context | None: ...
    def contexts_of(self, session: str) -> list[Context]:
        """The newest context of each agent of the session."""
        ...

    def replied(self, request: bytes) -> bytes | None:
        """The reply given to this request before, for a request that comes twice."""
        ...

    def has_told(self, session: str, event: bytes, since: int, until: int) -> bool:
        """Whether the session was told something at this event (`Delivery.event`) between these times (UTC, Unix ms). Looked for
        among its newest deliveries, up to the first from another time."""
        ...

    def standing(self, session: str, agent: str, epoch: int, *, open_since: int = 0) -> Mapping[bytes, bytes]:
        """note uid -> rendering digest of what stands in this context (delivered, or offered in a request still open).

        ``open_since``: an offer made earlier (UTC, Unix ms) and never receipted is counted as lost.
        """
        ...

    def turn_notes(self, session: str, agent: str, turn: str) -> frozenset[bytes]:
        """Uids of the notes that were sent in this turn."""
        ...

    def sent(self, session: str, agent: str, epoch: int, turn: str, *, open_since: int = 0) -> frozenset[bytes]:
        """Those of `turn_notes` that stand in this context: an offer that was lost, or that stood before a compaction, does not."""
        ...

    def turn_tokens(self, session: str, turn: str, trigger: str) -> int:
        """Tokens sent in this turn by this trigger, over all agents of the session."""
        ...

    def hold(self, session: str, agent: str, turn: str) -> Hold | None:
        """The edit that was held back in this turn of this agent."""
        ...

    def open_holds(self, session: str) -> list[Hold]:
        """Holds of the session, of all its agents, of which nothing has come yet."""
        ...

    def held_for(self, session: str, agent: str, epoch: int) -> frozenset[bytes]:
        """Uids of the notes that an edit was held for in this context, whether or not a receipt came."""
        ...

    def asked(self, session: str, agent: str, epoch: int) -> set[bytes]:
        """Uids of the notes that this context asked for and was shown."""
        ...

    def asked_in_turn(self, session: str, agent: str, turn: str) -> set[bytes]:
        """Likewise of the notes that were asked for in this turn."""
        ...

    def was_shown(self, uid: bytes, session: str) -> bool:
        """Whether any agent of the session was ever told the note, unasked or asked: an answer that did not arrive may have."""
        ...

    def session_in(self, pid: int, started: int) -> str:
        """The session whose main agent was heard last in this client process; "" for none."""
        ...

    def moved_from(self, root: str, path: str) -> tuple[str, ...]:
        """The paths, from the root of this checkout, at which a file was seen before."""
        ...


class Ledger(LedgerSnapshot, Protocol):
    """Deliveries and contexts, in an environment of its own that waits for no fsync.

    It survives kill -9; a power cut may repeat a note once. Each question is answered from a snapshot of its own; `read` gives
    one for several.
    """

    def read(self) -> AbstractContextManager[LedgerSnapshot]: ...
    def at_hand(self) -> AbstractContextManager[LedgerSnapshot]:
        """`read`, for who keeps everybody else from writing what he asks for: what is known already is told without a look at the
        tables, and the moment is that of the first question that needs one."""
        ...

    def put_context(self, context: Context, *others: Context) -> None:
        """Each in place of what was known of it, all at once; ``others``: of the same session."""
        ...

    def contexts(self, *, live_since: int = 0) -> Iterator[Context]: ...
    def offer(self, delivery: Delivery, reply: bytes, *contexts: Context) -> None:
        """Records an answer that is about to be sent, and its reply bytes under its request id; with it contexts of its session."""
        ...

    def put_asked(self, delivery: Delivery) -> None:
        """Records what the answer to a question showed; nothing of it stands, or counts against a budget."""
        ...

    def receipt(self, request: bytes) -> Delivery | None:
        """The hook has written the answer: offered becomes delivered. None where nothing was offered under this id."""
        ...

    def deliveries(self, *, session: str | None = None) -> Iterator[Delivery]:
        """Newest first."""
        ...

    def put_flags(self, flags: Sequence[StaleFlag]) -> None:
        """Raises and clears stale flags: each key's event once, then counted; nothing where a flag stands so already."""
        ...

    def flags_of(self, uid: bytes) -> list[StaleFlag]:
        """Every event of a note's flags, in all checkouts, oldest first."""
        ...

    def flags_standing(self) -> list[StaleFlag]:
        """The flags that are raised now, of all notes and checkouts."""
        ...

    def put_bursts(self, notes: Sequence[BurstNote]) -> None:
        """Holds or clears notes that came in a burst, each in place of what was kept of it."""
        ...

    def bursts(self) -> list[BurstNote]:
        """Every note that is or was held, in no order."""
        ...

    def burst_of(self, uid: bytes) -> BurstNote | None: ...
    def put_result(self, result: ToolResult) -> None:
        """Adds what a tool gave; the oldest of its session, or of all, go where there are too many."""
        ...

    def results_of(self, session: str) -> list[ToolResult]:
        """What tools gave this session, oldest first."""
        ...

    def results_since(self, at: int) -> list[ToolResult]:
        """What tools gave any session then (UTC, Unix ms) or later, oldest first."""
        ...

    def holds(self) -> list[Hold]:
        """Every hold there was, in no order."""
        ...

    def settle(self, hold: Hold, outcome: HoldOutcome, at: int) -> None:
        """Records what came of a hold, unless something has already. ``at``: UTC, Unix ms."""
        ...

    def prune(self, before: int, is_gone: Callable[[bytes], bool], rest: Callable[[], None]) -> int:
        """Takes away deliveries and tools' results older than ``before`` (UTC, Unix ms), contexts that were not heard of since, and
        who was shown the notes of which ``is_gone``; gives the number of deliveries.

        Slice by slice, with a ``rest`` between two; what that raises ends it. What stands in a context that lives on stays.
        """
        ...

    def put_moved(self, root: str, path: str, old: str) -> None:
        """A file of a checkout that was at ``old`` has been seen at ``path``."""
        ...

    def let_go(self) -> None:
        """As `Store.let_go`."""
        ...

    def close(self) -> None: ...
