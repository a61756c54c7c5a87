"""The rendering digest: whether a context has seen this already (delivery.md, "Once").

`RENDERING_DIGEST_BYTES` bytes: a truncated SHA-256 of the pushed note with all that its ground says left out (the anchor that
matched, the status, a directive's verdict), then one byte `Status`. So two renderings are the same if their text is the same
and their statuses are equal or one of them is `OPEN`: that is the status of a note without anchors, of one that there was no
time to check, and of one whose files this context edited itself. A status that becomes known, or that this context changed
itself, is then no change, while a file that somebody else changed is one. A file that this context set right again is as its note
says without anybody's word: what stands of it says that it changed, and stays (`stands`).
"""

import hashlib
from collections.abc import Collection, Sequence

from memd_daemon.frames.push import statusless
from memd_daemon.limits import RENDERING_DIGEST_BYTES
from memd_daemon.model.view import NoteView, Status


def rendering_digest(view: NoteView, tags: Sequence[str], edited_here: Collection[str] = ()) -> bytes:
    """The digest of the note as this context would get it now; ``edited_here``: repository paths the context edited."""
    return (view.text_digest or text_digest(view, tags)) + bytes([view.status(edited_here)])


def text_digest(view: NoteView, tags: Sequence[str]) -> bytes:
    """All of the digest but the status: the same for every ground, so that a view that is kept may keep it (``text_digest``)."""
    text = hashlib.sha256(statusless(view, tags).encode("utf-8", "surrogatepass")).digest()
    return text[: RENDERING_DIGEST_BYTES - 1]


def same_rendering(one: bytes, other: bytes) -> bool:
    """Whether two digests of one note stand for the same rendering."""
    same_status = one[-1:] == other[-1:] or Status.OPEN in (*one[-1:], *other[-1:])
    return one[:-1] == other[:-1] and same_status


def stands(seen: bytes, view: NoteView, tags: Sequence[str], edited_here: Collection[str] = ()) -> bool:
    """Whether a rendering that a context was given (``seen``, its digest) is what it would get now; ``edited_here`` as above."""
    now = rendering_digest(view, tags, edited_here)
    if same_rendering(seen, now):
        return True
    is_mended = now[-1] == Status.MATCHES and any(ground.path in edited_here for ground in view.ground)
    return is_mended and seen[:-1] == now[:-1]
