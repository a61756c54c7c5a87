"""The transcripts of clients that memd can read, by the client's name."""

from collections.abc import Mapping
from typing import Final

from memd_hooks.harness import claude, claude_transcript, codex_transcript
from memd_hooks.harness.transcript import Transcript

BY_NAME: Final[Mapping[str, Transcript]] = {claude.NAME: claude_transcript, codex_transcript.NAME: codex_transcript}
