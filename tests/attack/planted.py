"""What the world under attack holds: endorsed notes, notes of agents, two fallen beliefs; and the person who signs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memd_client import api, signing
from tests.cli.world import PASSPHRASE

if TYPE_CHECKING:
    from tests.attack.siege import Siege

FILE: Final = "app.py"


@dataclass(frozen=True)
class Planted:
    """A note as it was recorded, and the question that it answers."""

    id: int
    uid: str
    kind: str
    content: str
    asks: str


# name -> (kind, content, the question that it answers, further fields)
ENDORSED: Final[Mapping[str, tuple[str, str, str, dict[str, Any]]]] = {
    "rule": (
        "directive",
        "Never push to main on Fridays: the release train leaves then.",
        "may I push to main on Fridays, when the release train leaves?",
        {"priority": "high"},
    ),
    "habit": (
        "directive",
        "Run migrations with tools/migrate.py, never by hand.",
        "how do I run migrations with tools/migrate.py?",
        {"priority": "low"},
    ),
    "gotcha": (
        "gotcha",
        "add() in app.py has to stay free of side effects: the scheduler calls it twice.",
        "may add() in app.py have side effects for the scheduler?",
        {"priority": "high", "anchors": [FILE]},
    ),
    "finding": (
        "finding",
        "The staging database heron is reset every night at two.",
        "when is the staging database heron reset at night?",
        {},
    ),
    "task": (
        "task",
        "Replace the retry loop of the uploader by the shared backoff.",
        "is the retry loop of the uploader replaced by the shared backoff?",
        {"priority": "high"},
    ),
    "decision": (
        "decision",
        "We chose LMDB over SQLite since its readers never block.",
        "why did we choose LMDB over SQLite for readers?",
        {},
    ),
    "principle": (
        "finding",
        "Validate tokens with five seconds of leeway.",
        "with how much leeway do we validate tokens?",
        {"level": "principle", "slug": "validate-tokens-with-leeway", "why": "clocks drift"},
    ),
}
AGENTS: Final[Mapping[str, tuple[str, str, str, dict[str, Any]]]] = {
    "a-rule": (
        "directive",
        "Prefer dataclasses to dictionaries in new modules.",
        "dataclasses or dictionaries in new modules?",
        {},
    ),
    "a-gotcha": (
        "gotcha",
        "Importing app.py at the top of the worker makes an import cycle.",
        "does importing app.py make an import cycle?",
        {"anchors": [FILE]},
    ),
    "a-finding": (
        "finding",
        "The nightly report counts weekends as one day.",
        "how does the nightly report count weekends?",
        {},
    ),
    "a-task": ("task", "Delete the unused fixtures of the parser tests.", "which unused fixtures are deleted?", {}),
    "a-decision": ("decision", "Logs are written as JSON lines.", "in which form are logs written?", {}),
    "a-auto": (
        "finding",
        "The linter takes forty seconds on the monorepo.",
        "how long does the linter take on the monorepo?",
        {"provenance": "auto"},
    ),
}
REASON: Final = "each worker has its own"
SIGNED_REASON: Final = "the gateway signs them now"
FALLEN: Final = ("The session cache is shared between the workers.", "is the session cache shared between the workers?")
FALLEN_HUMAN: Final = ("Webhooks arrive without a signature.", "do webhooks arrive without a signature?")


class Person:
    """Whoever knows the passphrase: signs what the daemon plans, as the command does after it has shown it."""

    def __init__(self, siege: "Siege") -> None:
        self._siege = siege
        self.key = signing.load_key(str(next((siege.home / "keys").glob("*.json"))))
        with signing._opened(self.key, PASSPHRASE.encode()) as private:
            self._private = private

    def signatures(self, plan: api.Plan) -> list[bytes]:
        """One for each event."""
        return [self._private.sign(digest) for digest in digests(plan)]

    def seal(self, plan: api.Plan | None) -> api.Sealed:
        """Has a plan carried out."""
        assert plan is not None
        return self._siege.typed.seal(plan.token, self.signatures(plan))

    def endorsed(self, content: str, **fields: Any) -> api.Sealed:
        """A note that is recorded and endorsed in one step."""
        return self.seal(self._siege.typed.remember(content, endorse=True, **fields).plan)

    def act(self, act: str, ref: object, **fields: Any) -> api.Sealed:
        """A signed act."""
        return self.seal(self._siege.typed.act(act, str(ref), sign=True, **fields).plan)


def digests(plan: api.Plan) -> list[bytes]:
    """What a signature of each event covers."""
    return [signing.signed_digest(plan.store, e.body, e.content_digest, e.revision) for e in plan.events]
