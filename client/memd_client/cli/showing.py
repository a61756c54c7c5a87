"""One note for a person: the text of `show`, with the user's own words and their evidence set off from the rest on a terminal.

The lines are the daemon's, byte for byte in a pipe. Which of them say whose words they are can be told by how they begin
(memd_daemon/frames/stripes.py): no content can begin a line so.
"""

import re
from collections.abc import Iterator
from typing import Final

from memd_client.cli.screen import Part

YOURS: Final = "bold green"
_STRIPE: Final = re.compile(r"  (\[(user-stated, turn \d+|human|agent|auto)\] {2,})(?=\S)")
_QUOTE: Final = re.compile(r"  (\[(user, turn \d+|claimed user turn[^\]]*)\] )")
_EVIDENCE: Final = re.compile(r"  (evidence: turn \d+ (?:\([^)]*\): |said: ))")
_FURTHER: Final = "  | "


def lines(text: str) -> Iterator[tuple[int | None, list[Part]]]:
    """(columns that what goes on is indented by, the parts) of each line; None leaves that to the line."""
    style = ""
    for line in text.split("\n"):
        if line.startswith(_FURTHER):
            yield None, [_FURTHER, (line.removeprefix(_FURTHER), style)]
            continue
        label, style = _label(line)
        if label is None:
            yield None, [line]
        else:
            yield label.end(), [("  " + label.group(1), "dim"), (line[label.end() :], style)]


def _label(line: str) -> tuple[re.Match[str] | None, str]:
    """What a line says of whose words follow, and the style of those."""
    if (stripe := _STRIPE.match(line)) is not None:
        return stripe, YOURS if stripe.group(2).startswith("user-stated") else ""
    if (quote := _QUOTE.match(line)) is not None:
        return quote, "green" if quote.group(2).startswith("user, ") else "yellow"
    if (evidence := _EVIDENCE.match(line)) is not None:
        return evidence, "green" if "(typed, " in evidence.group(1) or "said: " in evidence.group(1) else "yellow"
    return None, ""
