"""Use cases: each module is what one verb or one hook event does, on the store, the indexes and the ground."""
