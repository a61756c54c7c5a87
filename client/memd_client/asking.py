"""What every request has in common. The requests themselves: api.py, policies.py."""

from typing import Any, ClassVar

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every request says of its asker: where it stands and which session its environment names."""

    VERB: ClassVar[str] = ""
    REPLY: ClassVar[Any] = None

    cwd: str = ""
    env: dict[str, str] = {}  # the named session variables of wire.ENVIRONMENT_NAMES, never more
    surface: str = "cli"
