"""Evidence: which words of a note are the user's own (evidence.md, "Binding and checking"). Pure: no disk, no clock, no store.

A span of a note counts only where it is a whole statement on the user's side and begins a sentence on the note's side.
``read`` finds the spans, ``striped`` makes them what is shown, ``bindable`` finds what a note may be bound to.

What is whole is decided for the worse on both sides. A fragment that passes for a sentence turns around what somebody said, a
sentence that is missed is still quoted below the note. Where the rules are:

- folding.py: what counts as the same words;
- endings.py, enclosed.py: where a sentence ends, and what lies in quotation marks, brackets and code;
- blocks.py, pastes.py, echoes.py, questions.py: what is no statement at all;
- outline.py: what a sentence hangs on, and counts only together with;
- reading.py: the comparison; stripes.py: what is shown of it.

Of a turn the first `limits.EVIDENCE_TURN_LOOKED_AT_CHARS` are looked at, of all turns together
`limits.EVIDENCE_LOOKED_AT_CHARS`, the newest first: what lies behind is neither marked nor quoted. A statement that holds a
redaction mark never counts, since what was taken out cannot be compared.
"""

from memd_daemon.evidence.echoes import echoes
from memd_daemon.evidence.folding import Folded, find_excerpt, folded
from memd_daemon.evidence.reading import Quoted, Reading, Said, Span, Statement, bindable, read, sentences, statements
from memd_daemon.evidence.stripes import Stripe, striped

__all__ = [
    "Folded",
    "Quoted",
    "Reading",
    "Said",
    "Span",
    "Statement",
    "Stripe",
    "bindable",
    "echoes",
    "find_excerpt",
    "folded",
    "read",
    "sentences",
    "statements",
    "striped",
]
