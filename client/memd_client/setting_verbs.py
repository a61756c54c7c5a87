"""Settings on the wire: how they stand, one change, every change there was. The rule for changes is that of api.py, which has these
names too; the values are in values.py.
"""

from memd_client.asking import Request
from memd_client.values import ChangedSetting, SettingsLogReply, SettingsReply


class Settings(Request, frozen=True):
    """Every setting as it stands; with ``key`` that one."""

    VERB = "settings"
    REPLY = SettingsReply

    key: str = ""


class ChangeSetting(Request, frozen=True):
    """One change. ``how``: `set` (to ``values``), `unset`, or for a list `add` and `remove`. ``sign``: comes back as a plan."""

    VERB = "set"
    REPLY = ChangedSetting

    key: str
    how: str = "set"
    values: list[str] = []
    sign: bool = False


class SettingsLog(Request, frozen=True):
    """Every change of a setting, oldest first; with ``key`` that one's."""

    VERB = "settings-log"
    REPLY = SettingsLogReply

    key: str = ""
