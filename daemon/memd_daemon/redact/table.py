"""The whole table of kinds, in the two forms that are looked for. What a row means, and how to add one: rule.py."""

from memd_daemon.redact import kinds_headers
from memd_daemon.redact.kinds_clouds import CLOUDS
from memd_daemon.redact.kinds_code import CODE
from memd_daemon.redact.kinds_commands import COMMANDS
from memd_daemon.redact.kinds_services import SERVICES

TOKENS = (*CLOUDS, *CODE, *SERVICES)
HEADERS = (*kinds_headers.HEADERS, *COMMANDS)

__all__ = ["HEADERS", "TOKENS"]
