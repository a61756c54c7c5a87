"""Text to vector, and text to token count: the one user of onnxruntime and tokenizers.

Three things are made here, each loaded by an explicit call and never by an import:

- ``Embedder``: the full sentence model, float32 [dim], unit length. One text at a time, because a dynamically quantized
  vector depends on its batch mates. About 45 MB; 3 to 15 ms for 20 tokens, grows a little over linearly.
- ``QueryTable``: a weighted sum of stored token vectors in the space of the shipped model, for the hook path (under
  1 ms). It searches the same index as the full vectors; it has no meaning beside another model's.
- ``TokenCounter``: what a text costs in a budget. Needs neither onnxruntime nor numpy (about 40 ms to load).

All three share one tokenizer of the shipped model, which neither truncates nor pads and reads ``[SEP]`` and its like in
a text as plain characters. A window is cut out of its result, special tokens kept.

A model is a folder:

    model.onnx          inputs among `input_ids`, `attention_mask`, `token_type_ids`, each int64 [1, n];
                        first output float [1, dim] (pooled in the graph) or [1, n, dim]
    tokenizer.json
    memd_model.json     optional; all fields optional: {"id", "dim", "pooling": "graph" | "mean" | "cls", "prefix",
                        "window_tokens"}

Without an id the model is named by its folder and the digest of model.onnx, so that other bytes are another model.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from memd_daemon import limits
from memd_daemon.errors import ModelUnusable
from memd_daemon.index import native

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

MODEL_DATA: Final = Path(__file__).parent / "model_data"

Pooling = Literal["graph", "mean", "cls"]


class ModelCard(msgspec.Struct, frozen=True):
    """What memd_model.json says. ``dim`` 0 and an empty ``id`` mean: not said."""

    id: str = ""
    dim: int = 0
    pooling: Pooling | None = None
    prefix: str = ""
    window_tokens: int = limits.EMBED_WINDOW_TOKENS


class WordPieces:
    """A tokenizer that neither truncates nor pads. Safe to share between threads.

    :raises ModelUnusable: the file is not there or not a tokenizer
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        with usable(path.parent):
            self._tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True

    def ids(self, text: str) -> list[int]:
        """Every token of the text, without special ones."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def id_of(self, token: str) -> int | None:
        """The id of a vocabulary token."""
        return self._tokenizer.token_to_id(token)

    def window(self, text: str, tokens: int) -> list[int]:
        """The text with its special tokens, its end cut so that all are at most `tokens`."""
        whole = self._tokenizer.encode(text)
        surplus = len(whole.ids) - tokens
        if surplus <= 0:
            return list(whole.ids)
        own = [place for place, special in enumerate(whole.special_tokens_mask) if not special]
        cut = set(own[-surplus:])
        return [token for place, token in enumerate(whole.ids) if place not in cut]


@functools.cache
def shipped_pieces() -> WordPieces:
    """The tokenizer of the shipped model, loaded once for the process."""
    return WordPieces(MODEL_DATA / "tokenizer.json")


class TokenCounter:
    """What a text costs in a delivery's budget (delivery.md, "Budget")."""

    def __init__(self) -> None:
        self._pieces = shipped_pieces()

    def count(self, text: str) -> int:
        """max(WordPiece tokens, a quarter of the UTF-8 bytes, rounded up)."""
        in_bytes = -(-len(text.encode()) // limits.BYTES_PER_TOKEN)
        return max(len(self._pieces.ids(text)), in_bytes)


class QueryTable:
    """Query vectors of the shipped model without running it. ``model_id`` says whose vectors they may be compared with.

    The rows stay in the file (mapped), so that only the pages of tokens in use take memory.
    """

    def __init__(self) -> None:
        import numpy as np

        card = read_card(MODEL_DATA)
        self.model_id = card.id
        self.dim = card.dim
        self._pieces = shipped_pieces()
        self._unknown = self._pieces.id_of("[UNK]")
        self._rows = np.load(MODEL_DATA / "query_table.npy", mmap_mode="r")
        self._weights = np.load(MODEL_DATA / "query_weights.npy")

    def vector(self, text: str) -> Vector:
        """float32 [dim], unit length; all zero if no token of the text is known. The first QUERY_WINDOW_TOKENS count."""
        import numpy as np

        ids = self._pieces.ids(text)[: limits.QUERY_WINDOW_TOKENS]
        known = [token for token in ids if token != self._unknown]
        return unit(self._weights[known] @ self._rows[known].astype(np.float32))


class SentenceModel(msgspec.Struct, frozen=True):
    """A loaded model: all that one embedding needs, exchanged as a whole."""

    card: ModelCard
    pieces: WordPieces
    session: Any
    inputs: tuple[str, ...]

    def embed(self, text: str) -> Vector:
        """float32 [dim], unit length."""
        import numpy as np

        ids = self.pieces.window(self.card.prefix + text, self.card.window_tokens)
        feed = {name: np.full((1, len(ids)), int(name == "attention_mask"), np.int64) for name in self.inputs}
        feed["input_ids"] = np.array([ids], np.int64)
        return unit(pooled(self.session.run(None, feed)[0], self.card.pooling))


class Embedder:
    """The sentence model. ``model_id`` and ``dim`` stand with every stored vector.

    Until ``load`` they are the shipped model's. ``embed`` may be called from several threads, beside a ``load`` too.
    """

    def __init__(self) -> None:
        self._card = read_card(MODEL_DATA)
        self._model: SentenceModel | None = None

    @property
    def model_id(self) -> str:
        return self._card.id

    @property
    def dim(self) -> int:
        return self._card.dim

    @property
    def loaded(self) -> bool:
        return self._model is not None

    def load(self, path: Path | None = None) -> None:
        """Bring the model in the folder `path` into memory (the shipped one by default): 0.1 to 0.4 s.

        :raises ModelUnusable: a file is missing or broken, the inputs are not a sentence model's, or its vectors are not
            what memd_model.json says; what was loaded before stays
        """
        folder = path or MODEL_DATA
        card = read_card(folder)
        pieces = shipped_pieces() if path is None else WordPieces(folder / "tokenizer.json")
        session = open_session(folder)
        inputs = tuple(declared.name for declared in session.get_inputs())
        model = SentenceModel(card, pieces, session, inputs)
        named = msgspec.structs.replace(card, id=card.id or name_by_bytes(folder), dim=probed_dim(model, folder))
        self._model, self._card = msgspec.structs.replace(model, card=named), named

    def embed(self, text: str) -> Vector:
        """float32 [dim], unit length. What lies past the window does not count.

        :raises RuntimeError: nothing was loaded
        """
        if self._model is None:
            raise RuntimeError("Embedder.load comes before Embedder.embed")
        return self._model.embed(text)


def probed_dim(model: SentenceModel, folder: Path) -> int:
    """The dimension, from one short text through the model: a first call also warms it.

    :raises ModelUnusable: it does not run, or its card says another dimension
    """
    with usable(folder):
        found = len(model.embed("a"))
    if model.card.dim not in (0, found):
        raise ModelUnusable(folder, f"its vectors have {found} dimensions, memd_model.json says {model.card.dim}")
    return found


@contextlib.contextmanager
def usable(folder: Path) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of the model in this folder.

    :raises ModelUnusable: something did
    """
    try:
        yield
    except Exception as problem:  # the native libraries raise it bare, among errors with no common base
        raise ModelUnusable(folder, problem) from problem


def read_card(folder: Path) -> ModelCard:
    """memd_model.json of a model's folder; an empty card if there is none.

    :raises ModelUnusable: it is not what the module's docstring says
    """
    path = folder / "memd_model.json"
    with usable(folder):
        return msgspec.json.decode(path.read_bytes(), type=ModelCard) if path.exists() else ModelCard()


def name_by_bytes(folder: Path) -> str:
    """An id for a model that has none: folder name and the start of the digest of model.onnx."""
    with (folder / "model.onnx").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{folder.resolve().name}/{digest[: limits.SHORT_NAME_CHARS]}"


def open_session(folder: Path) -> Any:
    """An inference session on one thread that sleeps between calls.

    Its arena keeps the working memory of the longest text (about 10 MB): without it, page faults make such a text half as
    slow again. Memory patterns would keep one more plan for every length.

    :raises ModelUnusable: onnxruntime cannot open it
    """
    runtime = native.onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # fatal only: a daemon has no stderr, and errors arrive as exceptions
    with usable(folder):
        return runtime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def pooled(output: npt.NDArray[np.float32], pooling: Pooling | None) -> Vector:
    """[1, dim] or [1, n, dim] to [dim]; a [1, n, dim] of unsaid pooling is averaged."""
    row: Vector = output[0]
    if output.ndim == 2:
        return row
    first: Vector = row[0]
    return first if pooling == "cls" else row.mean(axis=0)


def unit(vector: Vector) -> Vector:
    """The vector with length 1, float32; a zero vector stays zero."""
    import numpy as np

    length = float(np.linalg.norm(vector))
    scaled: Vector = (vector / length if length else vector).astype(np.float32)
    return scaled
