"""Embedding, the query table and the token counter, with the model that ships."""

import hashlib
import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memd_daemon import limits
from memd_daemon.errors import ModelUnusable
from memd_daemon.index.embed import MODEL_DATA, Embedder, QueryTable, TokenCounter, WordPieces, pooled, shipped_pieces

LOCK = "lock_workspace() acquires a PID-scoped lock; it drops on scope exit."
RELATED = "The lock of the workspace is released when its scope ends."
UNRELATED = "Bananas ripen faster next to apples."


def test_the_committed_files_are_the_listed_ones() -> None:
    """Every file of the model has the digest that SHA256SUMS gives it, and none is unlisted but the notice."""
    listed = dict(reversed(line.split("  ")) for line in (MODEL_DATA / "SHA256SUMS").read_text().splitlines())
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in MODEL_DATA.iterdir()
        if path.name not in ("SHA256SUMS", "NOTICE")
    }
    assert found == listed
    assert (MODEL_DATA / "NOTICE").read_text().startswith("The files in this folder are derived from")


# --- the full model


def test_related_texts_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    """A paraphrase is near, another subject is not, and every vector is a float32 of length 1."""
    lock, related, unrelated = (embedder.embed(text) for text in (LOCK, RELATED, UNRELATED))
    assert lock @ related > 0.6 > 0.2 > lock @ unrelated
    assert (lock.dtype, lock.shape) == (np.float32, (embedder.dim,))
    assert np.linalg.norm(lock) == pytest.approx(1.0, abs=1e-5)


def test_a_text_has_one_vector_whatever_was_embedded_before(embedder: Embedder) -> None:
    """Bit for bit the same after other texts of other lengths, in another instance, and from several threads at once."""
    first = embedder.embed(LOCK)
    embedder.embed("word " * 300)
    other = Embedder()
    other.load()
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(embedder.embed, [LOCK, UNRELATED] * 4))
    for vector in (embedder.embed(LOCK), other.embed(LOCK), *threaded[::2]):
        assert np.array_equal(vector, first)


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "a" * 8000, "認証", "🙂"])
def test_every_text_has_a_vector(embedder: Embedder, text: str) -> None:
    """Empty, without a known word, one endless word: still a vector of length 1."""
    assert np.linalg.norm(embedder.embed(text)) == pytest.approx(1.0, abs=1e-5)


def test_past_the_window_nothing_counts(embedder: Embedder) -> None:
    """254 words and the two special tokens fill the window: the 254th still changes the vector, the 255th does not."""
    words = ["word"] * (limits.EMBED_WINDOW_TOKENS - 2)
    full = embedder.embed(" ".join(words))
    assert np.array_equal(embedder.embed(" ".join([*words, "banana"])), full)
    assert not np.array_equal(embedder.embed(" ".join([*words[:-1], "banana"])), full)


@given(st.text(max_size=200), st.integers(3, 40))
def test_a_window_is_what_the_tokenizer_itself_would_cut(text: str, tokens: int) -> None:
    """The shared tokenizer's window equals a truncating tokenizer's output for any text and length."""
    truncating = TRUNCATING
    truncating.enable_truncation(tokens)
    assert shipped_pieces().window(text, tokens) == truncating.encode(text).ids


TRUNCATING = Tokenizer.from_file(str(MODEL_DATA / "tokenizer.json"))
TRUNCATING.no_padding()
TRUNCATING.encode_special_tokens = True


def test_before_loading_the_model_is_named_but_does_not_embed() -> None:
    """Id and dimension are known at once, since stored vectors are opened by them."""
    model = Embedder()
    assert (model.loaded, model.dim, model.model_id) == (False, 384, "all-MiniLM-L6-v2/int8-1")
    with pytest.raises(RuntimeError, match="load comes before"):
        model.embed("a")


# --- another model


def copy_model(folder: Path, card: dict[str, object] | None) -> Path:
    """The shipped model under another path, with another memd_model.json or none."""
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(MODEL_DATA / name)
    if card is not None:
        (folder / "memd_model.json").write_text(json.dumps(card))
    return folder


def test_another_model_is_a_path(embedder: Embedder, tmp_path: Path) -> None:
    """Without memd_model.json it is named by folder and bytes, and its dimension is found."""
    other = Embedder()
    other.load(copy_model(tmp_path / "mine", None))
    name, digest = other.model_id.split("/")
    assert (name, len(digest), other.dim) == ("mine", 16, 384)
    assert np.array_equal(other.embed(LOCK), embedder.embed(LOCK))


def test_a_prefix_and_a_window_of_its_own_are_used(embedder: Embedder, tmp_path: Path) -> None:
    """What memd_model.json says goes in front of each text and decides where it ends."""
    other = Embedder()
    other.load(copy_model(tmp_path / "m", {"id": "mine/2", "prefix": "query: ", "window_tokens": 6}))
    assert other.model_id == "mine/2"
    assert np.array_equal(other.embed("lock of a workspace"), embedder.embed("query: lock of"))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.onnx", None),
        ("model.onnx", b"no model"),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{}"),
        ("memd_model.json", b"{"),
        ("memd_model.json", b'{"pooling": "max"}'),
        ("memd_model.json", b'{"dim": 768}'),
    ],
)
def test_an_unusable_model_is_refused_with_its_folder(tmp_path: Path, file: str, content: bytes | None) -> None:
    """A file that is missing, broken or says something else: one kind of error, and nothing is loaded."""
    folder = copy_model(tmp_path / "m", {})
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    model = Embedder()
    with pytest.raises(ModelUnusable, match=str(folder)):
        model.load(folder)
    assert not model.loaded


def test_a_model_that_cannot_be_used_leaves_the_loaded_one(tmp_path: Path) -> None:
    """The old model goes on embedding under its own name."""
    model = Embedder()
    model.load()
    before = model.embed(LOCK)
    with pytest.raises(ModelUnusable):
        model.load(copy_model(tmp_path / "m", {"id": "x", "dim": 768}))
    assert model.model_id == "all-MiniLM-L6-v2/int8-1"
    assert np.array_equal(model.embed(LOCK), before)


def test_pooling_of_a_model_that_answers_per_token() -> None:
    """[1, n, dim]: the mean unless the first is asked for; [1, dim] is taken as it is."""
    rows = np.array([[[1, 2], [3, 6]]], np.float32)
    assert pooled(rows, None).tolist() == pooled(rows, "mean").tolist() == [2, 4]
    assert pooled(rows, "cls").tolist() == [1, 2]
    assert pooled(rows[0, :1], "graph").tolist() == [1, 2]


# --- the token table


def test_the_table_points_where_the_model_points(embedder: Embedder, table: QueryTable) -> None:
    """A question by the table is nearest to the same text as by the model, and both stand under one model id."""
    notes = [embedder.embed(text) for text in (LOCK, UNRELATED, "The release is tagged by the build server.")]
    for question, nearest in (("where is the workspace locked?", 0), ("how do fruits ripen?", 1), ("tag a release", 2)):
        assert int(np.argmax([table.vector(question) @ note for note in notes])) == nearest
        assert table.vector(question) @ embedder.embed(question) > 0.5
    assert (table.model_id, table.dim) == (embedder.model_id, embedder.dim)


@pytest.mark.parametrize("text", ["", "   ", "\U0010ffff", "a" * 8000])
def test_a_text_without_a_known_token_is_a_zero_vector(table: QueryTable, text: str) -> None:
    """It is near to nothing, rather than near to what unknown tokens are near to."""
    assert not table.vector(text).any()


def test_the_table_reads_the_start_of_a_long_prompt(table: QueryTable) -> None:
    """Up to the last token of its window, and no further."""
    start = "lock " * (limits.QUERY_WINDOW_TOKENS - 1)
    assert np.array_equal(table.vector(start + "file banana"), table.vector(start + "file apple"))
    assert not np.array_equal(table.vector(start + "banana"), table.vector(start + "apple"))
    assert np.linalg.norm(table.vector(start)) == pytest.approx(1.0, abs=1e-5)


# --- the counter


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("a", 1),
        ("a" * 8000, 2000),  # one unknown token to WordPiece
        ("a b c d e f", 6),  # 11 bytes, six tokens
        ("lock", 1),
        ("locks", 2),  # one token, five bytes
        ("🙂🙂🙂", 3),  # 12 bytes
        ("[SEP]", 3),  # not the special token, but what a reader sees
        ("word " * 1000, 1250),  # nothing is truncated: 1,000 tokens, 5,000 bytes
        ("; " * 1000, 1000),
    ],
)
def test_a_text_costs_the_greater_of_tokens_and_bytes(counter: TokenCounter, text: str, cost: int) -> None:
    """The boundary table of delivery.md's rule."""
    assert counter.count(text) == cost


@given(st.text(max_size=300))
def test_a_cost_is_never_under_a_quarter_of_the_bytes(text: str) -> None:
    """For any text; and two texts in a row cost at least as much as either."""
    counter = TokenCounter()
    assert counter.count(text) >= math.ceil(len(text.encode()) / 4)
    assert counter.count(text + "\n" + text) >= counter.count(text)


def test_the_counter_needs_no_heavy_library() -> None:
    """Counting in a fresh process brings in neither onnxruntime nor numpy nor usearch."""
    code = (
        "import sys; from memd_daemon.index.embed import TokenCounter; assert TokenCounter().count('a b') == 2; "
        "print(sorted({'onnxruntime', 'numpy', 'usearch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_counter_table_and_model_share_one_tokenizer(counter: TokenCounter, table: QueryTable) -> None:
    """It is loaded once, whoever comes first."""
    assert counter._pieces is table._pieces is shipped_pieces()
    assert isinstance(shipped_pieces(), WordPieces)
