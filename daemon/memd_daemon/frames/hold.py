"""Why an edit is held back once (delivery.md, "Before the edit, truly before").

The sentence follows the bundle's last line, which is memd's own: after a note's content it could be taken for the note's.
"""

from typing import Final

HELD: Final = " This edit was held once so that you see this first; repeat the same call to make it."
