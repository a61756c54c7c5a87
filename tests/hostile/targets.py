"""The pure parsers, each as a function of bytes that returns where all is well, and raises where a promise is broken.

What a parser says of wrong input by an exception of its own is well. Each target has seeds: inputs that are right, from which
`mutated` makes wrong ones, and with which a fuzzer begins.
"""

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from memd_client import address, api, carried, wire, zmtp
from memd_daemon.evidence.outline import outline
from memd_daemon.evidence.reading import Said, bindable, read, sentences, statements
from memd_daemon.frames.escape import escape_content, escape_line, held_apart
from memd_daemon.ground.claims import claim_of, holds_secret, parse_anchor, verdict
from memd_daemon.ground.differing import differing
from memd_daemon.ground.keyed import keyed
from memd_daemon.ground.literals import is_value
from memd_daemon.ground.source import Source
from memd_daemon.index.shingles import units_of as shingled
from memd_daemon.index.terms import terms_of, units_of
from memd_daemon.model import policy
from memd_daemon.model.setting_keys import KEYS, written
from memd_daemon.redact import Redactor
from memd_daemon.store import exchange_lines
from memd_hooks import jsonc
from memd_hooks.events import HookAnswer, Moment
from memd_hooks.harness import claude, claude_results, claude_transcript, codex_transcript, git
from memd_hooks.harness.transcript import Finding, Lines, Prompt
from tests.hooks import rows

GOLDEN: Final = Path(__file__).parents[1] / "wire" / "golden" / "v1"
KEPT: Final = Path(__file__).with_name("kept")
"""Inputs that once broke a promise, as files: ``<target>-<what>``."""

REDACTOR: Final = Redactor.default()


class Target(NamedTuple):
    """One parser's promise. ``run`` raises where it is broken."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def text_of(raw: bytes) -> str:
    """Text as it may come in by a hook: with lone surrogates, where the bytes are no UTF-8."""
    return raw.decode("utf-8", "surrogatepass" if b"\xed" in raw and _is_wtf8(raw) else "replace")


def _is_wtf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def clean_of(raw: bytes) -> str:
    """Text as it is stored: what UTF-8 can say."""
    return raw.decode("utf-8", "replace")


def frames_of(raw: bytes) -> list[bytes]:
    """A message out of bytes: split where a zero stands."""
    return raw.split(b"\0")


# --- the wire


def wire_frames(raw: bytes) -> None:
    frames = frames_of(raw)
    for parse in (wire.parse_request, wire.parse_hook, wire.parse_receipt, wire.parse_reply, carried.parse_carried):
        with contextlib.suppress(wire.Malformed):
            parse(frames)
    wire.parse_environment(raw)
    with contextlib.suppress(wire.Malformed):
        again = wire.parse_hook(wire.hook_request(wire.parse_hook(frames))[3:])
        assert again.stdin == frames[7]


def zmtp_reader(raw: bytes) -> None:
    """Whole and byte by byte it says the same, and holds no more than its bounds."""
    told = []
    for step in (len(raw) or 1, 1):
        parser, is_garbled = zmtp.Parser(), False
        try:
            for at in range(0, len(raw), step):
                parser.feed(raw[at : at + step])
        except zmtp.Garbled:
            is_garbled = True
        told.append((is_garbled, parser.ready, parser.messages, parser.outgoing))
    assert told[0] == told[1]


def spool_file(raw: bytes) -> None:
    with contextlib.suppress(wire.Malformed):
        spooled = wire.decode_spool(raw)
        again = wire.decode_spool(wire.encode_spool(spooled))
        assert (again.at_ns, again.hook.stdin, again.hook.cwd) == (spooled.at_ns, spooled.hook.stdin, spooled.hook.cwd)
        assert (again.hook.request_id, again.hook.event) == (spooled.hook.request_id, spooled.hook.event)


def address_line(raw: bytes) -> None:
    found = address.parse(raw)
    assert found is None or address.parse(address.encode(found)) is not None


def bodies(raw: bytes) -> None:
    for shape in api.VERBS.values():
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            msgspec.msgpack.encode(msgspec.msgpack.decode(raw, type=shape))


# --- what clients write


def payload_claude(raw: bytes) -> None:
    for moment in Moment:
        event = claude.parse(moment, raw, "/here", {})
        if event is not None:
            json.loads(claude.render(event, HookAnswer(context="told")) or b"{}")


def payload_git(raw: bytes) -> None:
    git.parse(wire.GIT_COMMIT, raw, clean_of(raw), wire.parse_environment(raw))
    git.is_replay(clean_of(raw))


def tool_result(raw: bytes) -> None:
    claude_results.text_of(raw)
    claude_results.origin_of(clean_of(raw[:40]), raw[40:])


def transcripts(raw: bytes) -> None:
    """Rows on either side of the mark; every place a turn may have in them."""
    lines = raw.split(b"\n")
    for split in (0, len(lines) // 2, len(lines)):
        given = Lines(before=lines[:split], after=lines[split:], first=lines[0], from_start=True)
        for module in (claude_transcript, codex_transcript):
            asked = Prompt(
                session=rows.SESSION, id=rows.PROMPT, at_ms=rows.AT_MS, is_said=lambda said: said == rows.WORDS
            )
            assert module.finding(given, asked) in Finding


def json_with_comments(raw: bytes) -> None:
    """What is put in can be taken out again, with no other byte touched."""
    said = clean_of(raw)
    try:
        root = jsonc.parse(said)
    except jsonc.Malformed:
        return
    if isinstance(root.data, dict) and "memd" not in root.data:
        added = jsonc.add(said, [], {"a": [1]}, "memd")
        assert jsonc.parse(added).data == {**root.data, "memd": {"a": [1]}}
        assert jsonc.parse(jsonc.remove(added, ["memd"])).data == root.data


# --- what people write


def policy_file(raw: bytes) -> None:
    with contextlib.suppress(policy.BadPolicy):
        policy.read(raw)


def settings(raw: bytes) -> None:
    said = text_of(raw)
    for key in KEYS.values():
        with contextlib.suppress(ValueError):
            value = key.read(said)
            assert key.read(written(key.name, value)) == value


def redactor(raw: bytes) -> None:
    """Total, and what was redacted once is redacted."""
    said = clean_of(raw)
    once = REDACTOR.redact(said)
    assert REDACTOR.redact(once) == once
    kept = REDACTOR.redact_lines(said)
    assert kept.count("\n") == said.count("\n")


def anchors(raw: bytes) -> None:
    said = text_of(raw)
    given = parse_anchor(said)
    if given.form == "claim":
        claim = claim_of(given.path, given.part)
        for path in ("a.py", "a.toml", "a.json", "a.yaml", "a.ini", ".env"):
            source = Source(path, raw)
            verdict(claim, source)
            holds_secret(claim, source)


def keyed_files(raw: bytes) -> None:
    for name in ("a.toml", "a.json", "a.yaml", "a.ini", ".env", "a.properties", "Dockerfile"):
        keyed(name, raw)
    half = len(raw) // 2
    is_value(clean_of(raw[:half]), clean_of(raw[half:]), is_typed=True)


def escaping(raw: bytes) -> None:
    """No line of a content stands where a line of memd's own does; a line stays one line."""
    said = clean_of(raw)
    content = escape_content(said, claude.TAGS)
    assert all(line.startswith(" ") for line in content.split("\n")[1:])
    assert "\r" not in content
    assert "\x1b" not in content
    for line in (escape_line(said, claude.TAGS), held_apart(said, claude.TAGS)):
        assert len(line.splitlines()) <= 1
        assert "\x1b" not in line


def export_lines(raw: bytes) -> None:
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        line = exchange_lines.decode(raw)
        assert exchange_lines.decode(exchange_lines.encode(line)) == line
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        exchange_lines.decode_loosely(raw)
    exchange_lines.named_texts(raw)
    json.dumps(exchange_lines.said(raw))


def evidence(raw: bytes) -> None:
    """Sentences are stretches of the text, in order; what is bound of a turn stands in the turn."""
    said = clean_of(raw)
    half = len(said) // 2
    outline(said, is_note=True)
    for start, end in sentences(said):
        assert 0 <= start <= end <= len(said)
    statements(said)
    turn = Said(1, said[half:])
    read(said[:half], [turn])
    bindable(said[:half], [turn])


def words(raw: bytes) -> None:
    said = clean_of(raw)
    terms_of(said)
    units_of(said)
    shingled(said)


def diffs(raw: bytes) -> None:
    said = clean_of(raw)
    half = len(said) // 2
    differing(said[:half], said[half:], shown=REDACTOR.redact_lines)


# --- seeds


def _claude_rows() -> bytes:
    """A conversation: a prompt, an answer that calls a tool, its result, an end."""
    told = rows.Claude()
    for add in (told.typed, told.says, told.calls, told.result, told.says, told.waited):
        add()
    return b"\n".join(told.lines())


def _codex_rows() -> bytes:
    told = rows.Codex()
    told.begins()
    told.message("user", rows.WORDS)
    told.message("assistant", "done")
    return b"\n".join(told.lines())


PROSE: Final = (
    'Never commit to main. "We use `uv`, not pip," she said (see docs/a.md:12): the port is 8080!\n\n> quoted\n- one\n- two\n'
    "\u6c38\u8fdc\u4e0d\u8981\u76f4\u63a5\u63d0\u4ea4\u3002\U0001f469\u200d\U0001f52c"
).encode()
SECRETS: Final = (
    b"export API_KEY='sk-" + b"aB3dE5fG7hJ9kL1m" * 2 + b"'\npassword: hunter2hunter2\n"
    b"-----BEGIN RSA " + b"PRIVATE KEY-----\nMIIEow" + b"Ab0+/" * 20 + b"\n-----END RSA PRIVATE KEY-----\n"
    b"https://user:secretword@example.com/?token="
    + b"0123456789abcdef" * 2
    + b"\n<private>mine</private> [redacted:token]"
)
SETTINGS_JSON: Final = (
    b'\xef\xbb\xbf{\n  // kept\n  "hooks": {"a": [1, 2,], /* x */ "b": null},\n  "c": "d\\u0041",\n}\n'
)

FRAMES: Final = (b"", b"memd/1", b"hook", b"r" * 16, b"1", b"\x01", b"claude", b"read", b"/", b"A=b", b"{}")
GREETED: Final = zmtp.GREETING + zmtp.READY
PINGED: Final = GREETED + b"\x04\x0b\x04PING\x00\x0actx!" + zmtp.encode([b"a", b""])
ANSWERED: Final = GREETED + zmtp.encode([b"", b"memd/1", b"0.1", b"\0", b"x" * 300])
SPOOLED: Final = (GOLDEN / "prompt.spool").read_bytes()
ADDRESS: Final = address.encode(address.Address(wire.PROTOCOL, 7, 9, b"/run/s"))
NOTED: Final = msgspec.msgpack.encode(api.Remember(content="x", anchors=["a"], evidence=[(1, "x")], tags=["a"]))
ASKED: Final = msgspec.msgpack.encode({"query": "q", "ref": "1", "act": "amend", "token": b"x", "signatures": [b"y"]})
RESULTS: Final = (
    b'{"file": {"content": "x", "filePath": "/a"}}',
    b'{"stdout": "x"}',
    b'[{"type": "text", "text": "x"}]',
)
POLICY: Final = b'[settings]\nidle_exit_hours = 8\n\n[[directive]]\ntext = "Never commit to main."\n'
ANCHORS: Final = (b"app.py:1-3", b"app.py::A.b", b"app.toml::a.b = 5", b"! gone.py", b"a.py ~ a text", b"x.rb::a=")
MARKED: Final = b"a\r\n\x1b[2J <system-reminder>x</system-reminder>\n[memd] x"
NUMBER: Final = b'{"is":"number","id":1,"note":"00"}'
COMMIT: Final = b'{"is":"commit","origin":"00","seq":1,"header":"AA==","digests":["00"]}'

TARGETS: Final[dict[str, Target]] = {
    "wire-frames": Target(wire_frames, (b"\0".join(FRAMES), b"\0".join(FRAMES[3:]))),
    "zmtp-reader": Target(zmtp_reader, (ANSWERED, PINGED)),
    "spool-file": Target(spool_file, (SPOOLED,)),
    "address": Target(address_line, (ADDRESS,)),
    "bodies": Target(bodies, (NOTED, ASKED)),
    "payload-claude": Target(payload_claude, tuple(claude.sample(moment, "/here") for moment in Moment)),
    "payload-git": Target(payload_git, (b"GIT_REFLOG_ACTION=rebase\n", b"cherry-pick: x")),
    "tool-result": Target(tool_result, RESULTS),
    "transcripts": Target(transcripts, (_claude_rows(), _codex_rows())),
    "json-with-comments": Target(json_with_comments, (SETTINGS_JSON, b"{}", b'{"a":{"b":[{"c":1}]}}')),
    "policy-file": Target(policy_file, (POLICY,)),
    "settings": Target(settings, (b"8", b"0.5", b"on", b"2h", b"2026-11-30T09:00:00Z", b"/a,/b")),
    "redactor": Target(redactor, (SECRETS, PROSE)),
    "anchors": Target(anchors, ANCHORS),
    "keyed-files": Target(
        keyed_files, (b"a: 1\nb:\n  - c: 'x'\n", b"[a]\nb = 'c'\n", SETTINGS_JSON, b"A=b\nexport C='d'\n")
    ),
    "escaping": Target(escaping, (PROSE, MARKED, SECRETS)),
    "export-lines": Target(export_lines, (NUMBER, COMMIT)),
    "evidence": Target(evidence, (PROSE + b" " + PROSE, b"- a. b? c! (d \xe2\x80\x9ce\xe2\x80\x9d)\n" * 4)),
    "words": Target(words, (PROSE, b"getHTTPResponse snake_case kebab-case a1b2 \xe6\xbc\xa2\xe5\xad\x97")),
    "diffs": Target(diffs, (b"a\nb\nc\nd\n" * 3 + b"a\nb\nx\nd\n" * 3, SECRETS + SECRETS)),
}


def mutated(target: Target, seed: int, count: int) -> Iterator[bytes]:
    """The seeds, then so many inputs made of them; the same for the same seed."""
    yield from target.seeds
    chance = random.Random(seed)
    for _ in range(count):
        made = bytearray(chance.choice(target.seeds))
        for _ in range(chance.randint(1, 8)):
            _mutate(made, chance, target.seeds)
        yield bytes(made)


ODD: Final = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\r\n", b"\xe2\x80\xa8", b"9" * 30, b"-1", b'"', b"\\",
    b"[" * 50, b"{" * 50, b"(", b'{"a":', b"//", b"/*", b"'", b"=", b"::", b"~", b"[redacted:", b"]", b"\xef\xbb\xbf",
    b"null", b"NaN", b"1e999", b"\xcc\x81", b"\x1b[", b"\xc4\xb0", b"\xef\xac\x81", b"<private>", b"</private>",
    b"-----BEGIN ", b"PRIVATE KEY-----", b"password=", b"Bearer ", b"\xe3\x80\x82",
)  # fmt: skip
"""What parsers stumble over."""


def _mutate(made: bytearray, chance: random.Random, seeds: tuple[bytes, ...]) -> None:
    at = chance.randrange(len(made) + 1)
    end = min(len(made), at + chance.choice((1, 1, 2, 8, 64)))
    match chance.randrange(6):
        case 0:
            made[at:end] = b""
        case 1:
            made[at:at] = chance.choice(ODD)
        case 2:
            made[at:end] = chance.randbytes(end - at)
        case 3:
            made[at:at] = made[at:end] * chance.choice((1, 2, 30))
        case 4:
            other = chance.choice(seeds)
            begin = chance.randrange(len(other) + 1)
            made[at:end] = other[begin : begin + chance.choice((4, 40, 400))]
        case _:
            made[at:end] = chance.choice(ODD)
