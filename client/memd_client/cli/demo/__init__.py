"""`memd demo`: a whole session, played through the real hook scripts, the real daemon and a real store, in a scratch home."""
