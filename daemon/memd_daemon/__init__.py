"""The daemon: the one writer of the store, and the one place where delivery is decided."""
