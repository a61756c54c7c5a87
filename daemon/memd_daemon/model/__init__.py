"""Pure values of memd: notes, events, commits, turns, deliveries, and the fold. No I/O, no clock, no randomness."""
