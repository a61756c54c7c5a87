"""The closed vocabularies of memd, each ordered where the order means something (model.md, section 1)."""

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """When a note may arrive unasked."""

    DIRECTIVE = "directive"
    TASK = "task"
    GOTCHA = "gotcha"
    FINDING = "finding"
    DECISION = "decision"


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        return list(Priority).index(self)


class Provenance(StrEnum):
    """How much reviewing judgment stands behind a claim: a closed, ordered ladder, never a score."""

    AUTO = "auto"
    AGENT = "agent"
    HUMAN = "human"

    @property
    def rank(self) -> int:
        return list(Provenance).index(self)


class SourceType(StrEnum):
    """Who or what said it."""

    USER = "user"
    INFERENCE = "inference"
    TOOL = "tool"
    DOCUMENT = "document"
    COMMIT = "commit"
    CURATION = "curation"
    IMPORT = "import"
    CLI = "cli"


UNTRUSTED_SOURCES: Final = frozenset({SourceType.TOOL, SourceType.DOCUMENT})
"""Sources whose text is data, not instruction."""

RULELESS_SOURCES: Final = UNTRUSTED_SOURCES | {SourceType.COMMIT}
"""Sources that can never make a directive (model.md, section 4)."""


class Actor(StrEnum):
    """Who acts: `human` is said only of a signed event."""

    SYSTEM = "system"
    AGENT = "agent"
    HUMAN = "human"


class Surface(StrEnum):
    """Through which door an event came."""

    HOOK = "hook"
    MCP = "mcp"
    CLI = "cli"
    TUI = "tui"
    UI = "ui"
    GIT = "git"
    IMPORT = "import"
    SWEEP = "sweep"
    SYNC = "sync"


class Belief(StrEnum):
    HELD = "held"
    REVOKED = "revoked"


class Currency(StrEnum):
    CURRENT = "current"
    SUPERSEDED = "superseded"
    ABSORBED = "absorbed"


class Shelf(StrEnum):
    ACTIVE = "active"
    ARCHIVED = "archived"


class TaskState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class Attestation(StrEnum):
    """How far a turn is known to have been typed by a person (evidence.md)."""

    TYPED = "typed"
    CAPTURED = "captured"
    HEADLESS = "headless"
    REPLAYED = "replayed"
