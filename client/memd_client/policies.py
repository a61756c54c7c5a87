"""Policy files on the wire: which there are and whether they count, and what a person has to know to sign one.

Times and the rule for changes are those of api.py, which has these names too.
"""

import msgspec

from memd_client.asking import Request


class PolicyRuleOut(msgspec.Struct, frozen=True, kw_only=True):
    """A standing rule of a policy file. ``number``: which of the file's, from 1."""

    number: int
    text: str
    priority: str
    repo: str
    under: str
    file: str = ""  # its name, where the rule is told by itself


class PolicyOut(msgspec.Struct, frozen=True, kw_only=True):
    """A policy file as the daemon finds it."""

    name: str
    path: str
    place: str  # system or home
    counts: bool
    behind: str  # owner: out of this user's reach; signature: of an enrolled key; "" where it does not count
    why: str = ""  # it does not count
    detail: str = ""  # and where exactly
    fix: str = ""
    fingerprint: str = ""  # of the key that signed it
    signed_at: str = ""
    lost: str = ""  # since when it counts no more, where it did
    settings: dict[str, int | float | str | list[str]] = {}  # what it locks
    directives: list[PolicyRuleOut] = []


class PoliciesReply(msgspec.Struct, frozen=True, kw_only=True):
    """``folder`` and ``system_folder``: where such files are looked for."""

    files: list[PolicyOut]
    folder: str
    system_folder: str


class Policies(Request, frozen=True):
    """Every policy file there is, looked at anew."""

    VERB = "policies"
    REPLY = PoliciesReply


class PolicyChecked(msgspec.Struct, frozen=True, kw_only=True):
    """A file that may be signed. ``after``: its signature's time has to be later (UTC, Unix ms); 0: it never counted."""

    store: bytes
    key_id: bytes
    after: int
    settings: dict[str, int | float | str | list[str]]
    directives: list[PolicyRuleOut]


class PolicyCheck(Request, frozen=True):
    """Whether these bytes make a policy file, under this name. Refused with the reason where they do not."""

    VERB = "policy-check"
    REPLY = PolicyChecked

    name: str
    content: bytes
