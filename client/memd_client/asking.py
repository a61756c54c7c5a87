"""What every request has in common. The requests themselves: api.py, policies.py."""

from typing import Annotated, Any, ClassVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Of what is told or left out of a page. Another number is refused where the request is read."""


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every request says of its asker: where it stands and which session its environment names."""

    VERB: ClassVar[str] = ""
    REPLY: ClassVar[Any] = None

    cwd: str = ""
    env: dict[str, str] = {}  # the named session variables of wire.ENVIRONMENT_NAMES, never more
    surface: str = "cli"
