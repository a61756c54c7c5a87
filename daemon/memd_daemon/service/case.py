"""One act asked for: by whom, where, with which words."""

import msgspec

from memd_client import api
from memd_daemon.service.asker import Asker
from memd_daemon.service.repos import Place


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What every act is built from, beside its note. ``reason`` is redacted and within its limit."""

    request: api.Act
    asker: Asker
    place: Place
    reason: str
