"""What a process needs to reach the memd daemon, and the surfaces that people and agents use."""

__version__ = "0.1.0"
