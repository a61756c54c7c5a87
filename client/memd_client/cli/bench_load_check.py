"""Whether everything that was acknowledged under load is there exactly once, and the store whole (docs/benchmarks.md, "Load")."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from memd_client import api
from memd_client.cli.bench_load_session import Acknowledged
from memd_client.memd import Memd

T = TypeVar("T")

PAGE: Final = 4_000  # some 5 MB of notes
SHA_SHOWN_CHARS: Final = 12  # of a commit, in the note about it
NAMED_MAX: Final = 10  # of what is missing; all of it is counted


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What was acknowledged, and what is not there exactly once."""

    notes: int
    prompts: int
    commits: int
    told: int  # notes that hooks told
    missing: int
    missing_first: list[str]
    twice: int  # stored more than once, or told again within a turn
    twice_first: list[str]
    faults: list[str]  # that `memd verify` names
    events: int  # of the log, verified

    @property
    def is_clean(self) -> bool:
        return not (self.missing or self.twice or self.faults)


def check(memd: Memd, acknowledged: Sequence[Acknowledged]) -> Checked:
    """Looks everything up again. Raises MemdError."""
    notes = {id_: content for one in acknowledged for id_, content in one.notes.items()}
    prompts = [prompt for one in acknowledged for prompt in one.prompts]
    commits = [sha for one in acknowledged for sha in one.commits]
    stored = list(_notes(memd, min(notes, default=0)))
    found = Counter((note.id, note.content) for note in stored)
    contents = Counter(note.content for note in stored)
    shas = Counter(_commit_of(note) for note in stored)
    turns = Counter((turn.session, turn.text) for turn in _turns(memd))
    missing = [f"note [{id_}]" for id_, content in notes.items() if not found[id_, content]]
    missing += [f"a prompt of {session}" for session, words in prompts if not turns[session, words]]
    missing += [f"commit {sha}" for sha in commits if not shas[sha[:SHA_SHOWN_CHARS]]]
    twice = [f"note [{id_}]" for id_, content in notes.items() if contents[content] > 1]
    twice += [f"a prompt of {session}" for session, words in prompts if turns[session, words] > 1]
    twice += [f"commit {sha}" for sha in commits if shas[sha[:SHA_SHOWN_CHARS]] > 1]
    twice += [f"told: {told}" for one in acknowledged for told in one.twice]
    verified = memd.verify()
    return Checked(
        notes=len(notes),
        prompts=len(prompts),
        commits=len(commits),
        told=sum(one.told for one in acknowledged),
        missing=len(missing),
        missing_first=missing[:NAMED_MAX],
        twice=len(twice),
        twice_first=twice[:NAMED_MAX],
        faults=[f"{fault.where} {fault.what}" for fault in verified.faults],
        events=verified.events,
    )


def _notes(memd: Memd, oldest: int) -> Iterator[api.NoteOut]:
    """Every note down to this number."""
    for page in _pages(lambda offset: memd.notes(all_scopes=True, limit=PAGE, offset=offset).notes):
        yield from page
        if page[-1].id <= oldest:
            return


def _turns(memd: Memd) -> Iterator[api.TurnOut]:
    for page in _pages(lambda offset: memd.turns(limit=PAGE, offset=offset).turns):
        yield from page


def _pages(page_at: Callable[[int], Sequence[T]]) -> Iterator[Sequence[T]]:
    offset = 0
    while page := page_at(offset):
        yield page
        offset += len(page)


def _commit_of(note: api.NoteOut) -> str:
    return note.source.ref[:SHA_SHOWN_CHARS] if note.source.type == "commit" else ""
