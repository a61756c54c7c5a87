"""The lexical index: found at once, found the same after a commit, and only in the scopes that were asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_daemon import limits
from memd_daemon.index.words import WordIndex

LOCK = "lock_workspace() at agent/resolver.rs:214 acquires a PID-scoped lock; it drops on scope exit."
AUTH = "The authentication server 認証サーバー must be restarted after E0499."
FRUIT = "Bananas ripen faster next to apples."
NOTES = {1: LOCK, 2: AUTH, 3: FRUIT}


def filled(path: Path | None = None) -> WordIndex:
    index = WordIndex(path)
    for key, text in NOTES.items():
        index.add(key, "repo:a", text)
    return index


def keys(found: list[tuple[int, float]]) -> list[int]:
    return [key for key, _ in found]


@pytest.fixture(params=["pending", "committed", "mixed"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> WordIndex:
    """The three notes, in each state that they can be in."""
    index = filled(tmp_path / "words")
    if request.param != "pending":
        index.flush(1)
    if request.param == "mixed":
        index.add(2, "repo:a", AUTH)
    return index


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("who is locking the workspaces?", [1]),  # stems
        ("lockWorkspace", [1]),
        ("LOCK_WORKSPACE", [1]),
        ("lockworkspace", [1]),
        ("resolver.rs", [1]),
        ("src/agent/resolver.rs", [1]),
        ("e0499", [2]),
        ("認証", [2]),
        ("サーバーの再起動", [2]),
        ("ripe banana", [3]),
        ("the", [2]),  # nothing but filler: then filler counts
        ("what is the banana", [3]),
        ("kubernetes", []),
        ("", []),
        ("?!", []),
        ('lock AND (banana OR "x', [1, 3]),  # no query language
    ],
)
def test_a_note_is_found_by_words_identifiers_and_pairs(index: WordIndex, query: str, found: list[int]) -> None:
    """In each state, whatever the query is written like."""
    assert sorted(keys(index.search(query, ["repo:a"], 10))) == found


def test_a_note_is_found_the_moment_it_was_added(tmp_path: Path) -> None:
    """Without a flush; its new text after a change and nothing after a removal, though an older one is committed."""
    index = filled(tmp_path / "words")
    index.flush(1)
    index.add(3, "repo:a", "Pears do not ripen at all.")
    assert keys(index.search("pears", ["repo:a"], 5)) == [3]
    assert index.search("banana", ["repo:a"], 5) == []
    index.remove(3)
    assert index.search("pears ripen", ["repo:a"], 5) == []
    index.flush(2)
    assert index.search("pears ripen banana", ["repo:a"], 5) == []
    index.add(3, "repo:a", FRUIT)
    assert keys(index.search("banana", ["repo:a"], 5)) == [3]


def test_a_commit_changes_no_score() -> None:
    """Pending and committed notes are weighed by one formula: the same order and the same scores to four places."""
    index = WordIndex()
    for key in range(60):
        index.add(key, "s", f"{'lock ' * (key % 5)}{'file ' * (key % 7)} note{key:04} {'filler ' * (key % 11)}")
    query = "lock the file note0007"
    before = index.search(query, ["s"], 60)
    index.flush(1)
    after = index.search(query, ["s"], 60)
    assert keys(before) == keys(after)
    assert [score for _, score in after] == pytest.approx([score for _, score in before], rel=1e-4)


def test_scopes_filter_before_the_best_are_taken() -> None:
    """One weak match in its scope among 300 strong ones of another, committed and pending: it is found with k = 1."""
    index = WordIndex()
    for key in range(300):
        index.add(key, "repo:large", "lock lock lock workspace")
    index.add(1000, "repo:small", "a long text about many other things that at some point mentions a lock")
    for _ in range(2):
        assert keys(index.search("lock workspace", ["repo:small"], 1)) == [1000]
        assert 1000 in keys(index.search("lock workspace", ["repo:small", "repo:large", "repo:none"], 301))
        assert index.search("lock workspace", [], 10) == []
        assert index.search("lock workspace", ["repo"], 10) == []
        index.flush(1)


def test_a_note_that_changes_its_scope_is_in_the_new_one_alone(index: WordIndex) -> None:
    """Before and after a commit."""
    index.add(1, "global", LOCK)
    for _ in range(2):
        assert index.search("workspace", ["repo:a"], 5) == []
        assert keys(index.search("workspace", ["global"], 5)) == [1]
        index.flush(2)


@pytest.mark.parametrize(("k", "found"), [(-1, 0), (0, 0), (1, 1), (2, 2), (3, 2)])
def test_no_more_than_k(index: WordIndex, k: int, found: int) -> None:
    """Two notes match; every boundary around that."""
    assert len(index.search("lock restarted", ["repo:a"], k)) == found


def test_equal_scores_come_by_smaller_key() -> None:
    """Across pending and committed ones."""
    index = WordIndex()
    for key in (30, 10):
        index.add(key, "s", "same words")
    index.flush(1)
    index.add(20, "s", "same words")
    found = index.search("same words", ["s"], 5)
    assert {key for key, _ in found} == {10, 20, 30}
    assert found == sorted(found, key=lambda one: (-one[1], one[0]))


def test_of_many_that_are_as_good_the_smallest_keys_are_taken() -> None:
    """Whichever segments they lie in: an index that is made anew has others, and finds the same."""
    order = [7, 3, 9, 1, 8, 2, 6, 5, 4, 10]
    one, many = WordIndex(), WordIndex()
    for key in order:
        one.add(key, "s", "same words")
        many.add(key, "s", "same words")
        many.flush(key)
    one.flush(1)
    assert keys(one.search("same words", ["s"], 3)) == keys(many.search("same words", ["s"], 3)) == [1, 2, 3]


def test_the_rarest_terms_of_a_long_prompt_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for two terms, common ones fall out and the rare ones find their notes."""
    monkeypatch.setattr(limits, "QUERY_TERMS_MAX", 4)  # stem and exact form of two words
    index = WordIndex()
    for key in range(20):
        index.add(
            key, "s", "common words everywhere" + (" zebra" if key == 7 else "") + (" quartz" if key == 9 else "")
        )
    assert sorted(keys(index.search("common words everywhere zebra quartz", ["s"], 20))) == [7, 9]


# --- evidence


@pytest.mark.parametrize(
    ("query", "text", "terms", "identifiers"),
    [
        ("how does the workspace lock work?", LOCK, 2, 0),
        ("lock_workspace", LOCK, 1, 1),
        ("the workspace-lock", LOCK, 1, 0),
        ("lock_other", LOCK, 1, 0),
        ("what about resolver.rs?", LOCK, 1, 1),
        ("E0499 once more", AUTH, 1, 1),
        ("認証", AUTH, 1, 0),
        ("the of and it", LOCK, 0, 0),
        ("a b c", LOCK, 0, 0),
        ("kubernetes ingress", LOCK, 0, 0),
        ("", LOCK, 0, 0),
    ],
)
def test_evidence_counts_terms_and_identifiers(
    index: WordIndex, query: str, text: str, terms: int, identifiers: int
) -> None:
    """A word, a hyphenated word and an identifier are one each; what only fills a sentence is none."""
    found = index.evidence(index.weigh(query), text)
    assert (found.terms, found.identifiers) == (terms, identifiers)


def test_a_share_is_of_the_querys_weight() -> None:
    """All of it, none of it, and a rare word more than a common one."""
    index = WordIndex()
    for key in range(1000):
        index.add(key, "s", "lock" if key else "lock quartz")
    query = index.weigh("quartz lock")
    assert index.evidence(query, "a lock of quartz").idf_share == pytest.approx(1.0)
    assert index.evidence(query, "bananas").idf_share == 0.0
    assert index.evidence(query, "quartz").idf_share > 0.8 > 0.2 > index.evidence(query, "lock").idf_share > 0


def test_what_is_in_common_has_a_weight_of_its_own() -> None:
    """Rare words weigh more than common ones, an identifier as much as two, its words without it no more than one, a pair half."""
    index = WordIndex()
    for key in range(1000):
        index.add(key, "s", "run the tests" if key % 2 else f"note number {key}")

    def weight(query: str, text: str) -> float:
        return index.evidence(index.weigh(query), text).weight

    rare = weight("quartz", "quartz")
    assert weight("please run the tests", "run the tests") < 0.5 * rare
    assert weight("quartz and basalt", "basalt, quartz") == pytest.approx(2 * rare)
    assert weight("read_quartz", "read_quartz() waits") == pytest.approx(2 * rare)
    assert weight("read_quartz", "read the quartz") == pytest.approx(rare)
    assert weight("read_quartz", "quartz") == pytest.approx(rare / 2)
    assert weight("認証", "認証") == pytest.approx(rare / 2)
    assert weight("quartz", "") == weight("", "quartz") == weight("do it", "do it") == 0.0


def test_a_share_does_not_depend_on_how_many_notes_there_are() -> None:
    """Two of three content terms weigh about the same in a store of one and in a store of a thousand."""
    shares = []
    for count in (1, 1000):
        index = WordIndex()
        for key in range(count):
            index.add(key, "s", "workspace lock" if not key else f"note{key}")
        shares.append(index.evidence(index.weigh("workspace lock kubernetes"), "workspace lock").idf_share)
    assert shares[0] == pytest.approx(shares[1], abs=0.05)
    assert 0.55 < shares[0] < 0.7


# --- files


def test_what_was_flushed_is_there_when_opened_again(tmp_path: Path) -> None:
    """With the mark; what was not flushed is not; and a fresh folder has no mark."""
    index = filled(tmp_path / "words")
    assert index.mark is None
    index.flush(17)
    index.add(4, "repo:a", "never flushed")
    index.close()
    again = WordIndex(tmp_path / "words")
    assert (again.mark, again.pending) == (17, 0)
    assert keys(again.search("workspace", ["repo:a"], 5)) == [1]
    assert again.search("flushed", ["repo:a"], 5) == []


def test_saying_again_what_is_committed_changes_nothing(tmp_path: Path) -> None:
    """A replay after the mark finds each note once."""
    index = filled(tmp_path / "words")
    index.flush(1)
    for key, text in NOTES.items():
        index.add(key, "repo:a", text)
    index.flush(1)
    assert keys(index.search("workspace", ["repo:a"], 5)) == [1]


def test_many_flushes_stay_whole(tmp_path: Path) -> None:
    """Segments are merged on the way; the seal still fits each time the folder is opened."""
    index = WordIndex(tmp_path / "words")
    for turn in range(12):
        index.add(turn, "s", f"turn{turn:03} lock")
        index.flush(turn)
    index.close()
    again = WordIndex(tmp_path / "words")
    assert again.mark == 11
    assert sorted(keys(again.search("lock", ["s"], 50))) == list(range(12))


def test_clear_forgets_on_disk_too(tmp_path: Path) -> None:
    """Committed and pending notes are gone, no file holds their words, and the index goes on."""
    index = filled(tmp_path / "words")
    index.flush(1)
    index.add(9, "repo:a", "pending words")
    index.clear()
    assert (index.mark, index.pending, index.search("workspace pending", ["repo:a"], 5)) == (None, 0, [])
    assert not any(b"workspac" in path.read_bytes() for path in (tmp_path / "words").iterdir())
    index.add(1, "repo:a", LOCK)
    index.flush(2)
    assert keys(index.search("workspace", ["repo:a"], 5)) == [1]


def test_a_rebuild_commits_in_portions_and_ends_with_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there is gone, five notes in portions of two are all in, nothing is left pending."""
    monkeypatch.setattr(limits, "WORDS_REBUILD_NOTES", 2)
    index = filled(tmp_path / "words")
    index.flush(1)
    index.rebuild(((key, "s", f"note{key:03} zebra") for key in range(10, 15)), 9)
    assert (index.mark, index.pending) == (9, 0)
    assert sorted(keys(index.search("zebra workspace", ["s", "repo:a"], 50))) == [10, 11, 12, 13, 14]


def test_a_flush_that_fails_keeps_everything_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: an OSError, the notes are still found, and the next flush commits them."""
    index = filled(tmp_path / "words")

    def full(key: int, told: object) -> None:
        raise ValueError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(index, "_document", full)
        with pytest.raises(OSError, match="no space left"):
            index.flush(1)
    assert (index.pending, index.mark) == (3, None)
    assert keys(index.search("workspace", ["repo:a"], 5)) == [1]
    index.flush(2)
    assert (index.pending, index.mark) == (0, 2)
    assert keys(index.search("workspace", ["repo:a"], 5)) == [1]


def test_what_is_added_during_a_commit_stays_pending_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that stands still lets others search and write; a note changed meanwhile keeps its newer text."""
    index = filled(tmp_path / "words")
    committing, go_on = threading.Event(), threading.Event()
    commit = index._commit

    def halting(pending: object) -> None:
        committing.set()
        assert go_on.wait(30)
        commit(pending)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "_commit", halting)
    flushing = threading.Thread(target=index.flush, args=(1,))
    flushing.start()
    assert committing.wait(30)
    index.add(4, "repo:a", "a zebra arrives")
    index.add(3, "repo:a", "pears instead")
    assert keys(index.search("zebra", ["repo:a"], 5)) == [4]
    assert keys(index.search("workspace", ["repo:a"], 5)) == [1]
    go_on.set()
    flushing.join(30)
    assert index.pending == 2
    assert keys(index.search("zebra", ["repo:a"], 5)) == [4]
    assert keys(index.search("banana pears", ["repo:a"], 5)) == [3]


def test_threads_add_search_and_flush_at_once() -> None:
    """No exception in any of them, and every note is there in the end."""
    index = WordIndex()

    def work(first: int) -> None:
        for key in range(first, first + 40):
            index.add(key, "s", f"note{key:05} lock")
            assert keys(index.search(f"note{key:05}", ["s"], 1)) == [key]
            if key % 20 == 0:
                index.flush(key)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (0, 1000, 2000, 3000)))
    assert len(index.search("lock", ["s"], 500)) == 160


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "remove", "flush"]), st.integers(0, 5), st.sampled_from(["lock", "file"])),
        max_size=12,
    )
)
def test_any_order_of_changes_and_commits_leaves_the_last_text(steps: list[tuple[str, int, str]]) -> None:
    """The index is a dictionary from key to text, searched."""
    index, truth = WordIndex(), dict[int, str]()
    for act, key, word in steps:
        if act == "add":
            index.add(key, "s", word)
            truth[key] = word
        elif act == "remove":
            index.remove(key)
            truth.pop(key, None)
        else:
            index.flush(1)
    for word in ("lock", "file"):
        expected = {key for key, text in truth.items() if text == word}
        assert set(keys(index.search(word, ["s"], 10))) == expected


def test_what_pending_notes_hide_is_made_up_for() -> None:
    """The best committed notes were all replaced: the next ones come, as many as were asked for."""
    index = WordIndex()
    for key in range(10):
        index.add(key, "s", "zebra " * (10 - key) + "plain words")
    index.flush(1)
    for key in range(3):
        index.add(key, "s", "something else")
    assert keys(index.search("zebra", ["s"], 4)) == [3, 4, 5, 6]
    for key in range(3, 9):
        index.remove(key)
    assert keys(index.search("zebra", ["s"], 4)) == [9]


def test_the_rarest_words_find_what_shares_them() -> None:
    """By words as they stand, of the scopes that are asked; a text of fillers alone is looked for by them."""
    index = WordIndex()
    index.add(1, "s", "lock_workspace() drops on scope exit")
    index.add(2, "s", "the importer drops its rows")
    index.add(3, "t", "lock_workspace() is not reentrant")
    index.flush(1)
    index.add(4, "s", "it is what it is")
    assert keys(index.by_rarest("`lock_workspace()` drops early", ["s"], 5)) == [1, 2]
    assert set(keys(index.by_rarest("`lock_workspace()` drops early", ["s", "t"], 5))) == {1, 2, 3}
    assert keys(index.by_rarest("what is it", ["s"], 5)) == [4]
    assert index.by_rarest("", ["s"], 5) == []


def test_what_was_told_ahead_is_put_as_if_it_were_added() -> None:
    """`told` and `put` are `add` in two steps."""
    one, two = WordIndex(), WordIndex()
    one.add(1, "s", "lock_workspace() drops on scope exit")
    two.put(1, two.told("s", "lock_workspace() drops on scope exit"))
    assert one.search("workspace scope", ["s"], 3) == two.search("workspace scope", ["s"], 3) != []
