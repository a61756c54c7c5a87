"""What in a prompt is the user's paste and not the user's statement: mails, logs, stack traces, diffs, commands, code, long blocks.

One line of that kind makes its paragraph a paste; a mail's header makes one of all that follows, since a mail's body is
prose. A text whose prose is longer than anybody types has no statement at all.
"""

import re
from typing import Final

from memd_daemon import limits
from memd_daemon.evidence.blocks import Block
from memd_daemon.pattern import pattern

_LINES: Final = (  # how they begin
    r"diff --git |Index: \S|@@ -\d|--- \S|\+\+\+ \S|commit [0-9a-f]{7,40}\b",
    r"Traceback \(most recent|File \"[^\"\n]*\", line \d|at [\w.$<>/]+ ?\(|\w*(?:\.\w+)*(?:Error|Exception)\b:?|Caused by:",
    r"thread '[^'\n]*' panicked|panicked at |goroutine \d|\d+: 0x|E   |\.{3} \d+ more|npm (?:ERR!|WARN|error|warn)|-->",
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d(?::\d\d)?[\].,]? |\[\d+(?:\.\d+)?s?\] |[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ",
    r"\[(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)\]",
    r"(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)[: ]",
    r"(?:FAILED|PASSED) \S+::|error(?:\[\w+\])?: |warning(?:\[\w+\])?: |fatal: |remote: ",
    r"\$ \S|% \S|>>> |\.\.\. |\S+@\S+[:~][^\n]*[$#] |PS [A-Z]:",
    r"//|/\*|\*/|#!|#include|#define|import [\w.{*]|from [\w.]+ import|def \w+\(|class \w+[(:]|function \w*\(|SELECT .* FROM ",
    r"(?:const|let|var) \w+ ?=|(?:public|private|protected|static) \w|package [\w.]+;?$|return \S+;$",
    r"[\"'][\w-]+[\"'] ?: ?[\"'\[{\d]|[{}\]]+[,;]?$",
)
_MACHINE: Final = pattern(rf"[ \t]*(?:{'|'.join(_LINES)})")
_HEADERS: Final = (
    "from|to|cc|bcc|subject|date|sent|reply-to|message-id|von|an|betreff|gesendet|datum|de|para|asunto|enviado|fecha|à|objet",
    "envoyé|от|кому|тема|дата|отправлено|发件人|收件人|主题|日期|差出人|宛先|件名|送信日時|प्रेषक|विषय|من|إلى|الموضوع",
)
_MAIL_HEADER: Final = pattern(rf"[ \t]*(?:\*\*)?(?:{'|'.join(_HEADERS)})(?:\*\*)? ?[:：]", re.IGNORECASE)
_FORWARDS: Final = (
    r"-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|mensaje original)",
    r"-{2,} ?(?:mensaje reenviado|message d'origine|message transféré|исходное сообщение|пересылаемое сообщение)",
    r"begin forwarded message",
    r"(?:wrote|writes|schrieb|schreibt|escribió|escribe|écrit|пишет|написала?|написал\(а\)|ने लिखा|كتب)[^\n]{0,80}[:：][ \t]*$",
    r"(?:写道|寫道|のメール|の投稿|さんが書きました|書きました)[^\n]{0,20}[:：]",
)
_FORWARDED: Final = pattern("|".join(_FORWARDS), re.MULTILINE)
_LINE: Final = pattern(r"[^\n]+")
_CODE_ENDS: Final = (";", "{", "}", "=>", "->", "),")
_ASSIGNED: Final = pattern(r"\s*[\w.\[\]]+\s*[+*/-]?=\s*\S+$")


def _lines(text: str, block: Block) -> list[tuple[int, int]]:
    """From the beginning of the first line, which may stand before a marker."""
    if block.lines == 1:
        return [(text.rfind("\n", 0, block.start) + 1, block.end)]
    return [line.span() for line in _LINE.finditer(text, text.rfind("\n", 0, block.start) + 1, block.end)]


def is_forwarded(text: str, block: Block) -> bool:
    """Whether somebody else's letter begins in this block: then all that follows is theirs."""
    words = text[block.start : block.end].lower()
    if ":" not in words and "：" not in words and "--" not in words and "begin forwarded" not in words:
        return False
    if _FORWARDED.search(words):
        return True
    headers = sum(1 for start, end in _lines(text, block) if _MAIL_HEADER.match(text, start, end))
    return headers > 1


def is_machine_made(text: str, block: Block) -> bool:
    """Whether a line of the block is a machine's, or half of them look like code."""
    code = 0
    for start, end in _lines(text, block):
        if _MACHINE.match(text, start, end):
            return True
        line = text[start:end].rstrip()
        code += line.endswith(_CODE_ENDS) or ("=" in line and _ASSIGNED.match(line) is not None)
    return code * 2 >= block.lines


def is_long(block: Block) -> bool:
    """Whether a paragraph is longer than anybody types without an empty line."""
    return block.end - block.start > limits.EVIDENCE_PASTED_CHARS or block.lines > limits.EVIDENCE_PASTED_LINES
