"""The log, the turns and the ledger: what is true here, on disk before it is acknowledged."""
