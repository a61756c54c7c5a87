"""What fills a scratch store: notes of the length, mix and vocabulary of a year's work on one repository, the same at every run.

A note is one claim of 12 to 30 words, a few longer, with identifiers in it. Of a thousand notes 3 are rules, 20 open tasks, 100
decisions and 150 gotchas; the rest are findings. Two files carry HOT_GOTCHAS of the gotchas each and one a single one; the others
are spread. A further repository has nothing but RULES rules.
"""

import random
from typing import NamedTuple

HOT_FILE = "src/workspace/resolver.py"
EDITED_FILE = "src/workspace/journal.py"  # written anew before each measured edit
LONE_FILE = "src/workspace/session_log.py"
HOT_GOTCHAS = 50
RULES = 500
FOLDERS = ("billing", "catalog", "ingest", "query", "render", "scheduler", "transport", "workspace")
FILES = (
    HOT_FILE,
    EDITED_FILE,
    LONE_FILE,
    *(f"src/{folder}/{name}.py" for folder in FOLDERS for name in ("cache", "codec", "index", "lock", "pool", "retry")),
)
PER_MILLE = {"directive": 3, "task": 20, "decision": 100, "gotcha": 150}
WITH_CONDITION = 0.5  # the share of claims that say when they hold: lengths spread as people's do
SEED = 20  # any one: the same notes at every run

_VERBS = ("acquire", "build", "commit", "decode", "drain", "encode", "flush", "load", "merge", "open", "parse",
          "poll", "publish", "resolve", "retry", "rotate", "scan", "seal", "split", "sync", "trim", "unlock", "verify")  # fmt: skip
_NOUNS = ("account", "batch", "bucket", "cursor", "digest", "envelope", "frame", "header", "invoice", "journal", "lease",
          "manifest", "offset", "payload", "queue", "replica", "schema", "segment", "shard", "snapshot", "tenant", "ticket",
          "watermark", "window")  # fmt: skip
_FACTS = (
    "holds the {noun} lock while it waits for the network, so a slow peer stalls every worker behind it",
    "returns the old {noun} when two callers race, because the generation is compared before the write",
    "silently drops a {noun} larger than the buffer unless the caller asks for the strict variant",
    "is called twice after a reconnect and must therefore leave the {noun} as it finds it",
    "opens the {noun} in text mode on purpose, since the export tool of the finance team expects CRLF there",
    "sorts by {noun} name and not by time, which the nightly report has come to depend on",
    "needs the migration of the {noun} table to have run, otherwise it creates an empty one beside it",
    "keeps one {noun} per tenant in memory, about four megabytes each on the largest customer",
    "must not run inside a transaction, since the driver upgrades its {noun} to exclusive at the first read",
    "rounds half to even, and the invoices of the old system rounded half up: the difference is booked by hand",
    "takes its timeout in seconds while every neighbour takes milliseconds, and nobody converts the {noun}",
    "leaks a descriptor for each {noun} that is cancelled before its first byte has arrived",
    "assumes that the clock never goes back, and a virtual machine that was suspended proves it wrong",
    "reads the {noun} in pages of five hundred; the last page is empty when the count divides evenly",
    "was written for the previous gateway and still sends both headers, the second of which is ignored",
    "walks the whole {noun} although an index exists, because the optimizer misjudges the join in version fourteen",
    "gives up after three attempts with an error that names the wrong {noun}",
    "has to keep its odd signature: the mobile clients before release nine pass the {noun} by position",
)
_WHENS = (
    "when `{constant}` is below its default",
    "as soon as the worker runs with `{constant}` set",
    "which only shows under load on the staging cluster",
    "until the process is restarted",
    "and the test for it is skipped on the build machine",
    "so `{other}()` has to come first",
    "and `{other}()` relies on exactly that",
)
_RULES = ("Never call", "Always wrap", "Ask before changing", "Do not log the arguments of", "Keep the order of")


class Said(NamedTuple):
    """One note to be recorded."""

    content: str
    kind: str
    priority: str
    anchors: tuple[str, ...]


def said(count: int) -> list[Said]:
    """``count`` notes in a mixed order; HOT_FILE and EDITED_FILE get HOT_GOTCHAS gotchas each, in a small store a fifth of all."""
    chance = random.Random(SEED)  # noqa: S311 -- nothing secret: the same texts at every run
    hot = min(HOT_GOTCHAS, count // 5)
    kinds = [kind for kind, share in PER_MILLE.items() for _ in range(max(1, count * share // 1_000))]
    kinds += ["gotcha"] * max(0, 2 * hot + 1 - kinds.count("gotcha"))
    kinds = (kinds + ["finding"] * count)[:count]
    places = iter((LONE_FILE, *[HOT_FILE, EDITED_FILE] * hot))
    notes: dict[str, Said] = {}  # by content: what is said word for word already is not recorded again
    for number, kind in enumerate(kinds):
        place = next(places, "") if kind == "gotcha" else ""
        said = _said(chance, kind, number, place)
        while said.content in notes:
            said = _said(chance, kind, number, place)
        notes[said.content] = said
    mixed = list(notes.values())
    chance.shuffle(mixed)
    return mixed


def rules() -> list[Said]:
    """RULES rules of a repository of their own, no two alike."""
    chance = random.Random(SEED - 1)  # noqa: S311 -- as above
    found = {_content(chance, "directive") for _ in range(2 * RULES)}
    return [Said(content, "directive", "medium", ()) for content in sorted(found)[:RULES]]


def one_more(number: int) -> Said:
    """A further finding, another for each number."""
    return _said(random.Random(SEED + number), "finding", number, "")  # noqa: S311 -- as above


def prompt(number: int) -> str:
    """A prompt of about 100 tokens, another for each number."""
    return (
        "The nightly export fails again on the staging cluster: resolve_snapshot() in src/workspace/resolver.py hangs after the "
        "second reconnect, and the log only says that the lease of shard seven expired. Please find out whether flush_journal() "
        "still holds the workspace lock there, write a test that shows the hang without a network, and then fix it in the "
        f"smallest way that keeps the order of the segments. This is attempt {number}; last time we changed RETRY_LIMIT instead."
    )


def _said(chance: random.Random, kind: str, number: int, place: str) -> Said:
    anchors: tuple[str, ...] = ()
    if kind == "gotcha":
        anchors = (place or chance.choice(FILES[3:]),)
    elif kind == "finding" and number % 10 == 0:
        anchors = (chance.choice(FILES[3:]),)
    is_high = kind == "directive" or (kind == "task" and number % 10 == 0)
    return Said(_content(chance, kind), kind, "high" if is_high else "medium", anchors)


def _content(chance: random.Random, kind: str) -> str:
    name, other = _function(chance), _function(chance)
    constant = f"{chance.choice(_NOUNS)}_{chance.choice(_VERBS)}_limit".upper()
    fact = chance.choice(_FACTS).format(noun=chance.choice(_NOUNS))
    when = chance.choice(_WHENS).format(constant=constant, other=other)
    claim = f"`{name}()` {fact}" + (f", {when}" if chance.random() < WITH_CONDITION else "")
    if kind == "directive":
        return f"{chance.choice(_RULES)} `{name}()`: it {fact}"
    if kind == "decision":
        return f"We keep `{other}()` although {claim}"
    return f"Look into it: {claim}" if kind == "task" else claim


def _function(chance: random.Random) -> str:
    return f"{chance.choice(_VERBS)}_{chance.choice(_NOUNS)}_{chance.choice(_NOUNS)}"
