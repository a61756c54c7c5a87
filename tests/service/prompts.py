"""Prompts as people type and paste them (prompts.txt), to be held against the thousand notes of corpus.py: work on other
things, with code, stack traces, logs and paths in it; talk between two tasks; and questions that one of the notes answers.

Written apart from the calibration and from off_topic.txt, and before anything was measured with them. A line of `%%` says of
which kind the prompt behind it is; of one on a topic, the words of the note that it is to bring.
"""

import re
from pathlib import Path
from typing import Final

_TEXT: Final = Path(__file__).with_name("prompts.txt").read_text(encoding="utf-8")
_PROMPT: Final = re.compile(r"^%% ([a-z ]+)(?:: (.+))?\n((?:(?!%% ).*\n)+)", re.MULTILINE)
_ALL: Final = [(kind, words, said.removesuffix("\n")) for kind, words, said in _PROMPT.findall(_TEXT)]

OFF_TOPIC: Final = tuple(said for kind, _, said in _ALL if kind == "off topic")
SMALL_TALK: Final = tuple(said for kind, _, said in _ALL if kind == "small talk")
ON_TOPIC: Final = tuple((said, words) for kind, words, said in _ALL if kind == "on topic")
"""(prompt, words of the one note that it is to bring)"""
