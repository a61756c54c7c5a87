"""What policy files, lists of repositories and tools are refused for, as errors.py has it of everything else."""

from memd_daemon.errors import Refused, UsageError


class BadPolicyFile(Refused):
    """That is no policy file: {}. Nothing was signed."""


class NotIgnorable(Refused):
    """{} cannot be put on that list: {}."""


class UnknownTool(UsageError):
    """There is no tool {}: one of {}."""
