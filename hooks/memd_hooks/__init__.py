"""Everything that knows a harness: the hook scripts, the adapters, and the installer."""
