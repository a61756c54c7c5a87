"""Policy files for people: which there are, whether each counts, why not and what to do; and what signing one takes.

What is signed stands in memd_client.policy_signing. The daemon gives the store's uid, the key that signs here, and whether the
bytes make a policy file at all; the signature is made by the command, and lies beside the file, so nothing is recorded here.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from memd_client import api, policy_signing, signing
from memd_daemon.frames import policy as words
from memd_daemon.model import policy as reading
from memd_daemon.model.policy import BadPolicy, Behind, Directive, Policy, Why
from memd_daemon.model.setting_keys import NOT_PAUSED, PAUSE, written
from memd_daemon.service.explain import iso
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import key_in_use
from memd_daemon.service.policy import HOME, SYSTEM, File
from memd_daemon.service.refused import BadPolicyFile

_SIGN: Final = "read it, then `memd policy sign {path}` at your own terminal"
_FIXES: Final[dict[str, str]] = {
    Why.GONE: "put it back; or end it: sign an empty file of that name, `memd policy sign {name}`, then remove it",
    Why.BAD_NAME: "give it a name of letters, digits, `.`, `_` and `-` that ends in .toml",
    Why.TOO_MANY: "put the rules of several files into one",
    Why.NO_FILE: "put a plain file there",
    Why.UNREADABLE: "let this user read it",
    Why.TOO_LARGE: f"make it smaller than {policy_signing.CONTENT_MAX_BYTES} bytes",
    Why.IN_REACH: "let another user own it and every folder above it, writable by nobody else; or sign it",
    Why.MALFORMED: "mend it, and sign it again where it is signed",
}


def told(parts: Parts, _: api.Policies) -> api.PoliciesReply:
    """Every policy file, looked at now."""
    parts.policies.look(parts)
    folders = parts.policies.folders(parts.home)
    now_ms = parts.now_ms()
    return api.PoliciesReply(
        files=[_out(file) for file in parts.policies.found(now_ms)], folder=folders[HOME], system_folder=folders[SYSTEM]
    )


def _out(file: File) -> api.PolicyOut:
    lost = file.counted.lost if file.counted is not None and not file.behind else 0
    return api.PolicyOut(
        name=file.name,
        path=file.path,
        place=file.place,
        counts=bool(file.behind),
        behind=file.behind,
        why=words.REASONS[file.why] if file.why else "",
        detail=file.detail,
        fix=_FIXES.get(file.why, _SIGN).format(name=file.name, path=file.path) if file.why else "",
        fingerprint=signing.fingerprint_of(file.key_id) if file.behind == Behind.SIGNATURE else "",
        signed_at=iso(file.signed_at),
        lost=iso(lost),
        settings=_settings_out(file.policy),
        directives=rules_out(file.policy.directives),
    )


def _settings_out(policy: Policy) -> dict[str, int | float | str | list[str]]:
    """Each setting's value as people write it."""
    shown: dict[str, int | float | str | list[str]] = {}
    for key, (text, value) in policy.settings.items():
        if key == PAUSE:
            shown[key] = text if value == NOT_PAUSED else written(key, value)
        else:
            shown[key] = list(value) if isinstance(value, tuple) else value
    return shown


def rules_out(rules: Iterable[Directive]) -> list[api.PolicyRuleOut]:
    return [rule_out(rule) for rule in rules]


def rule_out(rule: Directive, file: str = "") -> api.PolicyRuleOut:
    """``file``: the name of the rule's file, where it is told apart from that."""
    r = rule
    return api.PolicyRuleOut(number=r.number, text=r.text, priority=r.priority, repo=r.repo, under=r.under, file=file)


def in_status(parts: Parts) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The files for `memd status`, and the problems among them."""
    listed = told(parts, api.Policies()).files
    problems = [
        {"what": f"the policy file {one.path} {_no(one)}: {_because(one)}", "fix": one.fix}
        for one in listed
        if not one.counts
    ]
    return [msgspec.to_builtins(one) for one in listed], problems


def _no(one: api.PolicyOut) -> str:
    return f"counts no more (seen {one.lost.partition('T')[0]})" if one.lost else "does not count"


def _because(one: api.PolicyOut) -> str:
    return f"{one.why} ({one.detail})" if one.detail else one.why


def check(parts: Parts, request: api.PolicyCheck) -> api.PolicyChecked:
    """What a person has to know to sign these bytes. Raises BadPolicyFile, NoKey."""
    if policy_signing.NAME.fullmatch(request.name) is None:
        raise BadPolicyFile(words.REASONS[Why.BAD_NAME])
    if len(request.content) > policy_signing.CONTENT_MAX_BYTES:
        raise BadPolicyFile(words.REASONS[Why.TOO_LARGE])
    try:
        policy = reading.read(request.content)
    except BadPolicy as bad:
        raise BadPolicyFile(str(bad)) from None
    parts.policies.look(parts)
    with parts.store.read() as snapshot:
        key_id = key_in_use(parts, snapshot)
    return api.PolicyChecked(
        store=parts.store.info.store,
        key_id=key_id,
        after=parts.policies.signed_at(request.name),
        settings=_settings_out(policy),
        directives=rules_out(policy.directives),
    )
