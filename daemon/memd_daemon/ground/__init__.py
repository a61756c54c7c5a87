"""The ground under a note: the repository it belongs to, and whether its anchored files stand as they were."""
