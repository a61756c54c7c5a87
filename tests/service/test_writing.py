"""Everything that model.md, section 4, refuses; after a refusal nothing is stored."""

from typing import Any

import pytest

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.ground import refused
from tests.service.desk import Desk

LONG = "a rule of many words " * 200


def stored(desk: Desk) -> tuple[int, int]:
    counts = desk.ask(api.Status()).store
    return counts["notes"], counts["events"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"content": ""}, errors.EmptyContent),
        ({"content": " \n\t "}, errors.EmptyContent),
        ({"content": "x" * (limits.CONTENT_MAX_BYTES + 1)}, errors.ContentTooLarge),
        ({"content": "é" * (limits.CONTENT_MAX_BYTES // 2 + 1)}, errors.ContentTooLarge),
        ({"content": "lone surrogate \ud800"}, errors.NotUnicode),
        ({"kind": "rumour"}, errors.UnknownWord),
        ({"priority": "urgent"}, errors.UnknownWord),
        ({"scope": "planet"}, errors.UnknownWord),
        ({"provenance": "human"}, errors.HumanNotSettable),
        ({"provenance": "system"}, errors.UnknownWord),
        ({"source": "hearsay:x"}, errors.UnknownWord),
        ({"source": "user:he said so"}, errors.SourceIsChecked),
        ({"scope": "session"}, errors.NoSession),
        ({"kind": "directive", "provenance": "auto"}, errors.AutoDirective),
        ({"kind": "directive", "source": "tool:grep"}, errors.UntrustedDirective),
        ({"kind": "directive", "source": "document:https://example.invalid"}, errors.UntrustedDirective),
        ({"kind": "directive", "source": "document:abc"}, errors.UntrustedDirective),
        ({"source": "commit:abc"}, errors.SourceIsCaptured),
        ({"source": "curation"}, errors.SourceIsCaptured),
        ({"source": "import:x"}, errors.SourceIsCaptured),
        ({"kind": "directive", "scope": "global"}, errors.GlobalNeedsSignature),
        ({"kind": "gotcha", "scope": "global", "anchors": ["app.py"]}, errors.GlobalNeedsSignature),
        ({"kind": "gotcha"}, errors.GotchaNeedsAnchor),
        ({"kind": "directive", "content": LONG}, errors.TooLongToDeliver),
        ({"kind": "gotcha", "content": LONG, "anchors": ["app.py"]}, errors.TooLongToDeliver),
        ({"anchors": ["../outside.py"]}, errors.AnchorOutside),
        ({"anchors": ["/etc/passwd"]}, errors.AnchorOutside),
        ({"anchors": ["link-out"]}, errors.AnchorOutside),
        ({"anchors": ["missing.py"]}, errors.AnchorMissing),
        ({"anchors": ["folder"]}, errors.AnchorNotAFile),
        ({"anchors": ["app.py::subtract"]}, refused.NoSuchSymbol),
        ({"anchors": ["app.py#L1-L99"]}, refused.AnchorPastEnd),
        ({"anchors": ["!app.py"]}, refused.ClaimNotSo),
        ({"proxies": ["missing.lock"]}, errors.AnchorMissing),
        ({"tags": ["x" * (limits.LINE_MAX_CHARS + 1)]}, errors.TextTooLong),
        ({"tags": ["two\nlines"]}, errors.NotOneLine),
        ({"tags": [str(n) for n in range(limits.TAGS_MAX + 1)]}, errors.TooMany),
        ({"derived_from": ["1"] * (limits.NAMED_NOTES_MAX + 1)}, errors.TooMany),
        ({"sources": ["1"] * (limits.NAMED_NOTES_MAX + 1)}, errors.TooMany),
        ({"evidence": [(1, "x")] * (limits.EVIDENCE_MAX + 1)}, errors.TooMany),
        ({"under": "two\nlines"}, errors.NotOneLine),
        ({"under": "d/" * limits.LINE_MAX_CHARS}, errors.TextTooLong),
        ({"under": "a\0b"}, errors.AnchorOutside),
        ({"source": "tool:two\0words"}, errors.NotOneLine),
        ({"reason": "y" * (limits.REASON_MAX_BYTES + 1)}, errors.ReasonTooLong),
        ({"reason": "é" * (limits.REASON_MAX_BYTES // 2 + 1)}, errors.ReasonTooLong),
        ({"contradicts": "999"}, errors.NoSuchNote),
        ({"supersedes": "[999]"}, errors.NoSuchNote),
        ({"derived_from": ["nonsense"]}, errors.NoSuchNote),
        ({"despite": "12345678901234567890123"}, errors.NoSuchNote),
        ({"evidence": [(1, "never said")]}, errors.NoSuchTurn),
        ({"evidence": [(1, "x")], "provenance": "auto"}, errors.NoSuchTurn),
        ({"endorse": True}, errors.NoKey),
    ],
)
def test_a_refused_write_stores_nothing(desk: Desk, words: dict[str, Any], error: type[errors.MemdError]) -> None:
    """Each refusal is its own error, with a message that says what to do, and the store is as before."""
    (desk.repo / "folder").mkdir()
    (desk.repo / "link-out").symlink_to("/etc/passwd")
    before = stored(desk)
    with pytest.raises(error) as refusal:
        desk.remember(**{"content": "something true", **words})
    assert str(refusal.value).strip()
    assert "{" not in str(refusal.value)
    assert stored(desk) == before


def test_an_excerpt_has_to_stand_in_its_turn(desk: Desk) -> None:
    """Evidence is compared after folding case, white space, quotes and dashes only, and kept as the turn has it."""
    desk.prompt("Never push to main — “ask” first.")
    number = desk.ask(api.Turns()).turns[0].turn
    made = desk.remember("Ask before a push to main.", evidence=[(number, 'never push  to main - "ASK" first')])
    note = desk.ask(api.Show(ref=str(made.id), cwd=str(desk.repo))).note
    assert note.evidence[0].excerpt == "Never push to main — “ask” first"
    with pytest.raises(errors.ExcerptNotInTurn):
        desk.remember("Another.", evidence=[(number, "never pull from main")])


def test_a_revoked_belief_is_answered_with_its_tombstone_and_needs_despite(desk: Desk) -> None:
    """Nearly the same words again are refused; naming the tombstone records them."""
    first = desk.remember("The cache is invalidated on every write to the table.")
    desk.act("revoke", first.id, reason="it is only invalidated on schema changes")
    with pytest.raises(errors.KnownMistake) as refusal:
        desk.remember("The cache is invalidated on every write to this table.")
    assert "Previously believed" in str(refusal.value)
    again = desk.remember("The cache is invalidated on every write to this table.", despite=str(first.id))
    assert "Previously believed" in again.tombstones[0]
    assert desk.ask(api.Show(ref=str(again.id), cwd=str(desk.repo))).note.state.belief == "held"


def test_a_secret_is_stored_nowhere(desk: Desk) -> None:
    """Content, tags, reasons and prompts are redacted before they are stored: no file under the home holds the bytes."""
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    made = desk.remember(f"The deploy uses {secret} from the vault.", tags=["deploy"])
    desk.act("revoke", made.id, reason=f"rotated {secret}")
    desk.prompt(f"use {secret} please")
    for path in desk.home.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert secret.encode() not in path.read_bytes(), path
    assert "[redacted:" in desk.ask(api.Turns()).turns[0].text


def test_contradicting_revokes_and_names_in_one_commit(desk: Desk) -> None:
    """The correction and the tombstone are one commit; a second correction links and revokes nothing twice."""
    wrong = desk.remember("Retries are exponential.")
    before = desk.ask(api.Status()).store["commits"]
    right = desk.remember("Retries are linear.", contradicts=str(wrong.id), reason="read retry.py")
    assert desk.ask(api.Status()).store["commits"] == before + 1
    shown = desk.ask(api.Show(ref=str(wrong.id), cwd=str(desk.repo)))
    assert shown.note.tombstone is not None
    assert f"contradicted by [{right.id}]" in shown.note.tombstone
    again = desk.remember("Retries are capped at five.", contradicts=str(wrong.id))
    assert any("revoked already" in told for told in again.told)
    assert desk.ask(api.Show(ref=str(wrong.id), cwd=str(desk.repo))).note.tombstone == shown.note.tombstone


def test_a_superseded_note_leaves_the_working_set_and_comes_back_on_request(desk: Desk) -> None:
    """Old news is found only where it is asked for; its valid_until is set."""
    old = desk.remember("The service listens on port 8080.")
    new = desk.remember("The service listens on port 9090.", supersedes=str(old.id))
    found = desk.recall("which port does the service listen on?")
    assert [f.note.id for f in found.found] == [new.id]
    both = desk.recall("which port does the service listen on?", superseded=True)
    assert {f.note.id for f in both.found} == {old.id, new.id}
    assert desk.ask(api.Show(ref=str(old.id), cwd=str(desk.repo))).note.valid_until


def test_what_is_built_on_a_fallen_note_is_flagged_until_it_is_back(desk: Desk) -> None:
    """Revoking flags every descendant in the same commit; reinstating clears what that revocation raised."""
    root = desk.remember("Locks are per process.")
    middle = desk.remember("So two workers can deadlock.", derived_from=[str(root.id)])
    leaf = desk.remember("So run one worker in CI.", derived_from=[str(middle.id)])
    desk.act("revoke", root.id, reason="they are per host")
    for note in (middle, leaf):
        assert (
            f"WARNING: derived from [{root.id}], revoked"
            in desk.ask(api.Show(ref=str(note.id), cwd=str(desk.repo))).text
        )
    desk.act("reinstate", root.id)
    for note in (middle, leaf):
        assert "WARNING: derived from" not in desk.ask(api.Show(ref=str(note.id), cwd=str(desk.repo))).text


def test_the_ladder_goes_one_rung_at_a_time_and_only_a_person_reaches_its_top(desk: Desk) -> None:
    """auto to agent is anybody's; agent to human is refused without a key; nothing goes down or skips."""
    made = desk.remember("CI caches the wheel folder.", provenance="auto")
    with pytest.raises(errors.MemdError):
        desk.act("promote", made.id, to="human")
    assert desk.act("promote", made.id, to="agent").effect == "applied"
    with pytest.raises(errors.NotOneRung):
        desk.act("promote", made.id, to="agent")
    with pytest.raises(errors.NotOneRung):
        desk.act("promote", made.id, to="auto")
    with pytest.raises(errors.NoKey):
        desk.act("promote", made.id, to="human", sign=True)


def test_a_note_is_found_by_id_brackets_and_uid(desk: Desk) -> None:
    """One reference syntax everywhere."""
    made = desk.remember("Anything.")
    for ref in (str(made.id), f"[{made.id}]", made.uid):
        assert desk.ask(api.Show(ref=ref, cwd=str(desk.repo))).note.id == made.id


def test_anchors_are_the_same_file_whatever_way_they_are_named(desk: Desk) -> None:
    """Relative, absolute, with dots, through a symlink and from a subdirectory: one path from the root."""
    (desk.repo / "pkg").mkdir()
    (desk.repo / "pkg" / "mod.py").write_text("x\n")
    (desk.repo / "alias.py").symlink_to(desk.repo / "pkg" / "mod.py")
    ways = [("pkg/mod.py", "."), (str(desk.repo / "pkg/mod.py"), "."), ("../pkg/./mod.py", "pkg"), ("alias.py", ".")]
    for given, cwd in ways:
        made = desk.ask(api.Remember(content=f"note through {given} {cwd}", anchors=[given], cwd=str(desk.repo / cwd)))
        assert desk.ask(api.Show(ref=str(made.id), cwd=str(desk.repo))).note.anchors[0].path == "pkg/mod.py"


def test_outside_git_a_directory_is_its_own_place(desk: Desk, tmp_path: Any) -> None:
    """Notes of a plain directory stay there."""
    plain = tmp_path / "plain"
    plain.mkdir()
    desk.ask(api.Remember(content="Only here.", cwd=str(plain)))
    assert [n.content for n in desk.ask(api.ListNotes(cwd=str(plain))).notes] == ["Only here."]
    assert desk.ask(api.ListNotes(cwd=str(desk.repo))).notes == []


def test_a_tombstone_stays_although_the_note_was_superseded(desk: Desk) -> None:
    """Superseding a revoked note is allowed and hides nothing: its tombstone still answers."""
    wrong = desk.remember("Sessions expire after one hour.")
    newer = desk.remember("Sessions expire after two hours.")
    desk.act("revoke", wrong.id, reason="measured: two hours")
    desk.act("supersede", wrong.id, by=str(newer.id))
    assert "Sessions expire after one hour" in desk.recall("when do sessions expire?").text


@pytest.mark.parametrize(
    ("wrong", "other"),
    [
        ("The retry count is three.", "The retry count is five."),
        ("Uploads are limited to 10 MB.", "Uploads are limited to 25 MB."),
        ("The cache is shared between workers.", "The cache is not shared between workers."),
        ("load_config() reads the environment first.", "load_settings() reads the environment first."),
        ("The importer uses the staging database.", "The importer uses the production database."),
    ],
)
def test_a_correction_is_no_repetition(desk: Desk, wrong: str, other: str) -> None:
    """Another number, identifier, negation or content word is another claim, and needs no `despite`."""
    made = desk.remember(wrong)
    desk.act("revoke", made.id, reason="measured")
    assert desk.remember(other).id
    with pytest.raises(errors.KnownMistake):
        desk.remember(wrong.replace("The ", "Note that the "))


def test_contradicting_what_was_revoked_before_is_answered_with_its_tombstone(desk: Desk) -> None:
    """The new note is recorded as its correction, and the writer reads why the old one fell, whatever the words."""
    old = desk.remember("lock_workspace takes a PID lock")
    desk.act("revoke", old.id, reason="it is a file lock")
    new = desk.remember("The resolver calls flock on the folder, shared by threads.", contradicts=str(old.id))
    assert new.id
    assert len(new.tombstones) == 1
    assert "reason: it is a file lock" in new.tombstones[0]


@pytest.mark.parametrize(
    ("held", "said", "told"),
    [
        ("The upload retries 3 times.", "The upload retries 5 times.", True),
        ("The cache is invalidated on writes.", "The cache is not invalidated on writes.", True),
        ("Sessions are kept in session_store.py files.", "Sessions are kept in user_store.py files.", True),
        ("The upload retries 3 times.", "The upload retries 3 times here.", False),
        ("The upload retries 3 times.", "The download of a model takes 5 minutes.", False),
    ],
)
def test_a_write_names_the_notes_that_it_is_at_odds_with(desk: Desk, held: str, said: str, told: bool) -> None:
    """Nearly the same words with another number, name or sense: the writer is told, and decides."""
    first = desk.remember(held)
    answer = desk.remember(said)
    assert answer.conflicts == ([first.id] if told else [])
    assert not (told and answer.near)


@pytest.mark.parametrize("how", ["contradicts", "supersedes", "revoked", "superseded"])
def test_a_note_that_is_corrected_or_gone_is_no_conflict(desk: Desk, how: str) -> None:
    """Only what stands beside the new one unsettled is told."""
    first = desk.remember("The upload retries 3 times.")
    if how == "revoked":
        desk.act("revoke", first.id, reason="it was measured")
    elif how == "superseded":
        desk.act("supersede", first.id, by=str(desk.remember("Uploads are somebody else's business.").id))
    words = {how: str(first.id)} if how in ("contradicts", "supersedes") else {}
    assert desk.remember("The upload retries 5 times.", **words).conflicts == []


def test_a_write_names_each_note_that_it_corrects(desk: Desk) -> None:
    """What is contradicted by what it is now, what is superseded likewise, a tombstone among them; neither in the other's place."""
    wrong, old = (desk.remember(text).id for text in ("The gateway listens on port 8080.", "The cache lives in redis."))
    both = desk.remember("One process does it all.", contradicts=str(wrong), supersedes=str(old), reason="r")
    assert (both.revoked, both.superseded) == (wrong, old)
    tombstone = desk.remember("Traffic comes in at port 9090.", supersedes=str(wrong))
    assert (tombstone.revoked, tombstone.superseded) == (0, wrong)
    assert (desk.remember("The moon is far away.").revoked, desk.remember("The sun is farther.").superseded) == (0, 0)
