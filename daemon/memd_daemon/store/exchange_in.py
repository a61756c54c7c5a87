"""The lines of an export taken into a store that nobody else has open: a copy of the one in the home, or a new one.

Whoever puts that store in place does so only once all of it is in (service/exchange_place.py, backup_swap.py), so an import is all
or nothing; and taking the same lines twice changes nothing.

**What is believed.** Nothing that a line says of itself. An event has to be the one that its commit names, a text the one that its
event names, a commit of this store's own chain the next one of that chain; a signature counts by the keys of this store alone, as
it does everywhere (model/trust.py). Turns, numbers and facts stand in no chain: they are taken only into a store that is new here
(facts and numbers also into the same one, where nothing stands in their place), and a turn that came so is nobody's typed word
again (service/attest.py goes by `turn_rows.IMPORTED`). Of another store's facts only what it says of its repositories is kept, as
its word and apart from the table of this one's (theirs.py).

**What stays out.** A text that the redactor would change cannot be the one that its digest names: the event is kept and the text
withheld. An event with a secret in a name or a path is withheld itself. Texts of notes that were forgotten here, and texts that
such a note had under another note's name. Each is counted and named by its line.

**What is wrong** is named by its line and passed over; whether the rest is then worth having, the caller decides.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from memd_daemon.errors import BadRequest, CommitForked
from memd_daemon.limits import (
    IMPORT_BATCH_EVENTS,
    IMPORT_NUMBER_MAX,
    IMPORT_STRETCHES_MAX,
    IMPORT_TEXT_MAX_BYTES,
    IMPORT_TURNS_GONE_MAX,
    NAMES_KNOWN_MAX,
    SALT_BYTES,
)
from memd_daemon.model import event as ev
from memd_daemon.model.burst import BurstNote
from memd_daemon.model.ids import UID_BYTES, is_time
from memd_daemon.store import exchange_lines as ln
from memd_daemon.store import keys, numbers, theirs, turn_rows
from memd_daemon.store.exchange_read import UNREADABLE, Group, Named, Taken, grouped
from memd_daemon.store.group import GroupStore
from memd_daemon.store.log_read import BROKEN, LogSnapshot, decode_header
from memd_daemon.store.log_write import LogTxn

FORKED: Final = (
    "this commit is another one than the one of its number that is here: both homes went on from one store, and no import makes "
    "those one again"
)

_encoder: Final = msgspec.msgpack.Encoder()

Redact = Callable[[str], str]


class Incoming:
    """Takes lines into ``store``. ``whose``: the uid of the store that was exported. ``is_new``: it is that very store, and empty;
    ``is_same``: that store, with something in it."""

    def __init__(self, store: GroupStore, redact: Redact, whose: bytes, *, is_new: bool, is_same: bool) -> None:
        self._store = store
        self._whose = whose
        self._is_own_store = is_new or is_same
        self._redact = redact
        self._is_clean = lru_cache(NAMES_KNOWN_MAX)(lambda word: redact(word) == word)
        self._is_new = is_new
        self._lost = _texts_forgotten(store)
        with store.read() as snapshot:
            self._newest = _last(snapshot, keys.IDS)
        self._passed_last = 0
        self._left_last = 0  # number of a turn that stayed out
        self.taken = Taken()

    def take(self, lines: Iterator[tuple[int, ln.AnyLine]], head: ln.Head, tell: Callable[[], None]) -> None:
        """All of them, in commits of the store, each of which is told. Raises StoreFull."""
        if head.passed and numbers.are_in_order(head.passed, IMPORT_NUMBER_MAX):
            self._passed_last = head.passed[-1][1]
        batch: list[Group | tuple[int, ln.AnyLine]] = []
        weight = 0
        for group in grouped(lines, self.taken):
            batch.append(group)
            weight += 1 + (len(group.events) if isinstance(group, Group) else 0)
            if weight >= IMPORT_BATCH_EVENTS:
                self._write(batch)
                tell()
                batch, weight = [], 0
        self._write(batch)
        wrong, passes_over = self._store.write(lambda txn: self._close(txn, head))
        self.taken.wrong.join(wrong)
        self.taken.others += passes_over

    def _write(self, batch: Sequence[Group | tuple[int, ln.AnyLine]]) -> None:
        def work(txn: LogTxn) -> Taken:
            found = Taken()
            for one in batch:
                if isinstance(one, Group):
                    self._commit(txn, one, found)
                else:
                    self._other(txn, *one, found)
            return found

        self.taken.add(self._store.write(work))

    # --- commits

    def _commit(self, txn: LogTxn, group: Group, found: Taken) -> None:
        commit = group.commit
        try:
            head = decode_header(commit.header)
            digests = [bytes.fromhex(digest) for digest in commit.digests]
            if head.origin.hex() != commit.origin or head.seq != commit.seq:
                raise BadRequest("it says that it is another one")
            self._refuse_fork(txn, commit, head, digests)
            before = txn.kv.count(keys.COMMITS)
            pairs, kept = self._pairs(group, digests, found)
            had = txn.kv.count(keys.EVENTS)
            txn.receive(commit.header, digests, pairs)
        except BadRequest as error:
            found.wrong.add(group.at, f"this commit cannot be taken: {error.args[0]}")
            return
        except CommitForked:
            found.wrong.add(group.at, FORKED)
            return
        except (*BROKEN, ValueError, struct.error):
            found.wrong.add(group.at, "this commit cannot be read")
            return
        found.commits += txn.kv.count(keys.COMMITS) - before
        found.events += txn.kv.count(keys.EVENTS) - had
        for event, texts in kept:
            self._texts(txn, event, texts, found)

    def _refuse_fork(self, txn: LogTxn, commit: ln.Commit, head: ev.Header, digests: Sequence[bytes]) -> None:
        """This store's own chain only goes on from where it stands: two homes that were one store may both have gone on."""
        if head.origin != self._store.info.origin or txn.kv.get(keys.COMMITS, keys.commit_key(head.origin, head.seq)):
            return
        newest = txn.kv.get(keys.META, keys.META_HEAD)
        seq, digest = (int.from_bytes(newest[:8], "big"), newest[8:]) if newest else (0, ev.GENESIS)
        if (head.seq, head.prev, head.store) != (seq + 1, digest, self._store.info.store):
            raise BadRequest(f"it does not follow commit {seq}, the last of this store's own")

    def _pairs(
        self, group: Group, digests: Sequence[bytes], found: Taken
    ) -> tuple[list[tuple[bytes, bytes] | None], list[tuple[ln.EventLine, list[tuple[int, ln.Text]]]]]:
        """(body, signature) of each event, None for one that is not taken; and those that are, with their texts."""
        pairs: list[tuple[bytes, bytes] | None] = [None] * len(digests)
        kept = []
        for number, event, texts in group.events:
            what = self._against(event, digests, pairs)
            secret = not what and self._holds_secret(event)
            if what or secret is None:
                found.wrong.add(number, what or "is an event that cannot be read")
            elif secret:
                found.withheld.add(number, "an event with what looks like a credential in a name")
            else:
                pairs[event.index] = (event.body, event.sig)
                kept.append((event, texts))
        return pairs, kept

    def _against(
        self, event: ln.EventLine, digests: Sequence[bytes], pairs: Sequence[tuple[bytes, bytes] | None]
    ) -> str:
        """What is wrong with an event's line; "" for nothing."""
        if not 0 <= event.index < len(digests) or pairs[event.index] is not None:
            return "is an event that its commit has no place for"
        if ev.event_digest(event.body, event.sig) != digests[event.index]:
            return "is not the event that its commit names"
        if event.says != ln.said(event.body):
            return "says something else than the event that it holds"
        return ""

    def _holds_secret(self, event: ln.EventLine) -> bool | None:
        """None where it cannot be read: whoever read the note later would fare no better."""
        try:
            return not all(map(self._is_clean, ln.words_in(msgspec.msgpack.decode(event.body))))
        except UNREADABLE:
            return None

    # --- texts

    def _texts(self, txn: LogTxn, event: ln.EventLine, texts: Sequence[tuple[int, ln.Text]], found: Taken) -> None:
        named = set(ln.named_texts(event.body))
        note = txn.note(ev.decode_event(event.body).note)
        for number, text in texts:
            digest, salt = _bytes_of(text.digest), _bytes_of(text.salt)
            raw = text.text.encode()
            if digest not in named:
                found.wrong.add(number, "is a text that its event does not name")
            elif len(raw) > IMPORT_TEXT_MAX_BYTES:
                found.wrong.add(number, "is a text that is too long")
            elif len(salt) != SALT_BYTES or ev.blob_digest(salt, raw) != digest:
                found.wrong.add(number, "is not the text that its event names")
            elif digest in self._lost or (note is not None and note.forgotten):
                found.forgotten += 1
            elif txn.text(digest) is not None:
                continue
            elif self._redact(text.text) != text.text:
                found.withheld.add(number, "a text with what looks like a credential")
            else:
                txn.put_text(text.text, salt)
                found.texts += 1

    # --- what stands in no chain

    def _other(self, txn: LogTxn, number: int, line: ln.AnyLine, found: Taken) -> None:
        if isinstance(line, ln.Number):
            self._number(txn, number, line, found)
        elif isinstance(line, ln.TurnLine):
            self._turn(txn, number, line, found)
        elif isinstance(line, ln.Fact):
            self._fact(txn, number, line, found)
        elif isinstance(line, ln.Held):
            self._held(txn, number, line.burst, found)

    def _number(self, txn: LogTxn, number: int, line: ln.Number, found: Taken) -> None:
        uid = _bytes_of(line.note)
        if not self._is_own_store or txn.id_of(uid) is not None:
            return
        # A store whose last number was the greatest went on there.
        next_one = max(_last(txn, keys.IDS), self._passed_last) + 1
        if len(uid) != UID_BYTES or not 0 < line.id <= max(IMPORT_NUMBER_MAX, next_one):
            found.wrong.add(number, "is no number of a note")
        elif line.id <= _last(txn, keys.IDS):
            if self._is_new:
                found.wrong.add(number, "is a number that another note has")
        else:
            txn.kv.put(keys.IDS, keys.number(line.id), uid)
            txn.kv.put(keys.ALIASES, uid, keys.number(line.id))
            txn.kv.put(keys.UNWANTED if line.unwanted else keys.UNEMBEDDED, keys.number(line.id), b"")
            found.others += 1

    def _turn(self, txn: LogTxn, number: int, line: ln.TurnLine, found: Taken) -> None:
        turn = line.turn
        if not self._is_new:
            found.turns_left += 1
            self._left_last = max(self._left_last, turn.number)
            return
        last = _last(txn, keys.TURNS)
        if not last < turn.number <= max(IMPORT_NUMBER_MAX, last) + IMPORT_TURNS_GONE_MAX or len(turn.uid) != UID_BYTES:
            found.wrong.add(number, "is a turn whose number does not follow the one before it")
            return
        if not is_time(turn.at) or (turn.crc and turn.crc != turn_rows.crc_of(turn)):
            found.wrong.add(number, "is not the turn that was stored")
            return
        aside = msgspec.to_builtins(msgspec.structs.replace(turn, text=""), builtin_types=(bytes,))
        if not all(map(self._is_clean, ln.words_in(aside))):
            found.withheld.add(number, "a turn with what looks like a credential in a name")
            return
        words = self._redact(turn.text)
        if words != turn.text:
            found.withheld.add(number, "what looks like a credential in a turn")
            turn = msgspec.structs.replace(turn, text=words)
            turn = msgspec.structs.replace(turn, crc=turn_rows.crc_of(turn))
        txn.kv.put(keys.TURNS, keys.number(turn.number), _encoder.encode(turn))
        turn_rows.enter(txn.kv, turn, txn.session_turns(turn.session))
        if line.raised is not None:
            txn.put_raised(turn.number, line.raised)
        txn.put_setting(turn_rows.IMPORTED, keys.number(turn.number))
        found.turns += 1

    def _fact(self, txn: LogTxn, number: int, line: ln.Fact, found: Taken) -> None:
        if not line.name.startswith(ln.PORTABLE_FACTS) or not 0 < len(line.name.encode()) <= keys.KEY_MAX_BYTES:
            found.wrong.add(number, "is a fact that no export holds")
        elif not ln.is_fact(line.name, line.value):
            found.wrong.add(number, "is a fact that says nothing")
        elif not all(map(self._is_clean, (line.name, *_words_of(line.value)))):
            found.withheld.add(number, "a fact with what looks like a credential")
        else:
            found.others += self._take_fact(txn, line)

    def _take_fact(self, txn: LogTxn, line: ln.Fact) -> bool:
        """Of another store's repositories only what it says of them (theirs.py); a decision of this very store only where there
        is nothing yet, and about no repository of its own."""
        claim = theirs.claim_of(line.name, line.value, self._whose)
        if claim is not None and (not self._is_own_store or line.name.startswith(theirs.SAID)):
            return theirs.put_claim(txn, claim)
        if not self._is_own_store or txn.setting(line.name) is not None:
            return False
        if theirs.is_decision(line.name):
            return self._is_new and theirs.take_decision(txn, line.name, line.value)
        txn.put_setting(line.name, line.value)
        return True

    def _held(self, txn: LogTxn, number: int, burst: BurstNote, found: Taken) -> None:
        """Only a note that has just come is held: of one that was here already it is known here."""
        if not self._is_own_store or not _has_events(txn, burst.note):
            return  # the note of an event that stayed out, or of another store
        if (txn.id_of(burst.note) or 0) <= self._newest:
            return
        if not (burst.others >= 0 and is_time(burst.at) and is_time(burst.cleared_at)):
            found.wrong.add(number, "holds a note as memd holds none")
        elif not all(map(self._is_clean, ln.words_in(msgspec.to_builtins(burst, builtin_types=(bytes,))))):
            found.withheld.add(number, "a held note with what looks like a credential in a name")
        else:
            found.held.append(burst)

    def _close(self, txn: LogTxn, head: ln.Head) -> tuple[Named, bool]:
        """Numbers that stand for no note at all go again; no number of a note or a turn is given twice. Gives what is wrong, and
        whether more numbers are passed over now."""
        found, passes_over = Named(), False
        last = _last(txn, keys.TURNS) if self._is_new else self._left_last
        if not 0 <= head.last_turn <= _last_turn_max(last):
            found.add(1, "gives a last turn that no store has")
        elif self._is_new and (given := max(head.last_turn, last)) > 0:
            txn.kv.put(keys.META, keys.META_TURN, keys.number(given))
        if len(head.passed) > IMPORT_STRETCHES_MAX or not numbers.are_in_order(head.passed, IMPORT_NUMBER_MAX):
            found.add(1, "passes over numbers as no store does")
        elif self._is_own_store and not numbers.fit(txn.kv, head.passed, IMPORT_STRETCHES_MAX):
            found.add(1, "passes over more numbers than an export can tell")
        elif self._is_own_store:
            passes_over = numbers.pass_over(txn.kv, head.passed)
        empty = [(key, uid) for key, uid in txn.kv.scan(keys.IDS) if self.taken.others and not _has_events(txn, uid)]
        for key, uid in empty:
            for table, row in ((keys.IDS, key), (keys.ALIASES, uid), (keys.UNEMBEDDED, key), (keys.UNWANTED, key)):
                txn.kv.delete(table, row)
        if not self.taken.withheld.count:  # else an event that stayed out may be all there is of its note
            for key, _ in empty:
                found.add(0, f"the number {keys.of_number(key)} stands for no note")
        return found, passes_over


def _last(log: LogSnapshot, table: str) -> int:
    """The greatest number in a table that goes by them; 0 where it is empty."""
    row = log.kv.last(table)
    return 0 if row is None else keys.of_number(row[0])


def _last_turn_max(last: int) -> int:
    """The greatest number of a last turn that is believed where ``last`` is the last turn of the export. A store that took over the
    greatest goes on behind it, and its own export is to be taken again."""
    return IMPORT_NUMBER_MAX if last <= IMPORT_NUMBER_MAX else last + IMPORT_TURNS_GONE_MAX


def _has_events(txn: LogTxn, uid: bytes) -> bool:
    first = txn.kv.seek(keys.SUBJECTS, uid)
    return first is not None and first[0].startswith(uid)


def _texts_forgotten(store: GroupStore) -> frozenset[bytes]:
    """The digests of all that notes said which were forgotten here."""
    found: set[bytes] = set()
    with store.read() as snapshot:
        for uid in set(store.fallen(0)):
            note = snapshot.note(uid)
            if note is not None and note.forgotten:
                found.update(digest for one in snapshot.log_of(uid) for digest in ln.named_texts(one.body))
    return frozenset(found)


def _bytes_of(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return b""


def _words_of(value: bytes) -> list[str]:
    """What may be read in a fact's value: a uid has nothing, a packed value its texts."""
    try:
        return [*ln.words_in(msgspec.msgpack.decode(value)), value.decode("utf-8", "replace")]
    except UNREADABLE:
        return [value.decode("utf-8", "replace")]
