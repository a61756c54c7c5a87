"""Every word the model sees, as pure functions of a `NoteView`: no clock, no file, no decision.

`recall.recalled` a note that was asked for · `push.renderings` a note that interrupts · `envelope.bundle` the wrapper around
several · `notices` memd's own lines before it, at a start · `hold.HELD` why an edit is held · `show.shown` and
`history.event_line` a note's whole story · `digest` whether a context has seen a rendering · `escape` what keeps a note's text
from passing for memd's. The golden texts are in tests/golden.
"""
