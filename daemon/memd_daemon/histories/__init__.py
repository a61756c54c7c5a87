"""Real histories, and what staleness would have said in them: what `memd bench staleness` runs in a process of its own.

A note is imagined on a function as it stood at a commit; some commits later the product's own comparison says whether the note
would be flagged, and `truth` says, worked out by other means, whether that function's code has changed.
"""
