"""Values behind a name that says they are a credential: `password = "…"`, `API_KEY=…`, `"token": "…"`, `--secret …`.

The keyword is looked for as a literal; an operator has to follow it, and then judge.py looks at the value. Only the value
goes. The marker carries the kind, and the vendor where the name holds one: `TWILIO_AUTH_TOKEN=…` becomes
`TWILIO_AUTH_TOKEN=[redacted:twilio-token]`.

In place of an operator, the value may stand in the field that follows (`- name: DB_PASSWORD` and `value: …`, a variable of
Terraform and its default), or a command may set the name to it (`set -x API_TOKEN …`).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.redact import judge

KEYWORDS: Final = {
    "password": "password",
    "passwd": "password",
    "passphrase": "password",
    "passcode": "password",
    "pwd": "password",
    "pass": "password",
    "secret": "secret",
    "credential": "secret",
    "credentials": "secret",
    "secret_key_base": "secret",
    "token": "token",
    "key": "key",
}

# What stands before "key" where the key is one that has to be kept (a sort key, a public key, a cache key need not be).
_KEPT_KEY: Final = re.compile(
    r"(?:api|access|secret|private|auth|encryption|decryption|signing|master|account|shared|service|servicerole|app"
    r"|application|deploy|consumer|subscription|client|admin|hmac|jwt|session|cipher|aes|license|storage|integration"
    r"|webhook|write|ingest)key\Z"
)
# What stands before "token" where it is sure to be a credential; behind any other, a digest or a UUID is an identifier.
_SURE_TOKEN: Final = re.compile(
    r"(?:auth|access|refresh|bearer|api|bot|deploy|service|user|admin|secret|personal|oauth|id|session|csrf|npm)token\Z"
)
# Vendors whose name in front of a keyword stands in the marker.
VENDOR: Final = re.compile(
    "aws|azure|cloudflare|heroku|twilio|datadog|vercel|algolia|mailgun|postmark|fastly|okta|zendesk|asana|bitbucket"
    "|circleci|travis|codecov|coveralls|snyk|sonar|launchdarkly|rollbar|bugsnag|pagerduty|opsgenie|trello|spotify|twitch"
    "|twitter|facebook|linkedin|discord|dropbox|firebase|supabase|shopify|salesforce|hubspot|intercom|segment|mixpanel"
    "|amplitude|mapbox|plaid|coinbase|binance|kraken|kucoin|infura|alchemy|etherscan|cohere|mistral|deepseek|gemini|wandb"
    "|pinecone|weaviate|elastic|mongodb|postgres|mysql|redis|rabbitmq|jenkins|telegram|zoom|github|gitlab|slack|stripe"
    "|openai|anthropic"
)

_NAME_CHARS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_OPERATOR: Final = re.compile(
    r"(?P<close>\\{0,2}[\"'`]?)\]?"
    r"(?:(?P<sign>[ \t]{0,8}(?:"
    r":[ \t]{0,2}[A-Za-z_][\w.\[\]| ]{0,30}=(?!=)"  # password: str = "…"
    r"|[ \t][A-Za-z_]\w{0,15}[ \t]{1,2}=(?!=)"  # var password string = "…"
    r"|:=|=>|={1,3}|!==?|:|[ \t]is[ \t]"
    r")[ \t]{0,8})|(?P<call>[ \t]{0,2}[(,][ \t]{0,8}(?=\\{0,2}[\"'`]))|(?P<space>[ \t]{1,2}))"
)
# From the end of a name that is a value itself to the value that goes with it: at most the rest of one short block away.
_BESIDE: Final = re.compile(
    r"(?P<close>\\{0,2}[\"'`]?)"
    r"(?P<sign>(?:[ \t]{0,4}\{[^{}]{0,300}?\bdefault|[ \t]{0,4},?(?:\s|\\n){1,40}\\{0,2}[\"']?(?:value|default))"
    r"\\{0,2}[\"']?[ \t]{0,8}[:=][ \t]{0,8})(?P<call>)(?P<space>)",
    re.IGNORECASE,
)
_SETS: Final = re.compile(  # commands that take a name and a value with a space between them
    r"(?:\bset(?:[ \t]{1,4}-{1,2}[a-z]{1,10}){1,3}|\bsetenv|\bsetx|\bconfigure[ \t]{1,4}set"
    r"|\bconfig(?:[ \t]{1,4}(?:set|-{1,2}[a-z]{1,10})){1,3}|(?-i:\bENV))[ \t]{1,4}\Z",
    re.IGNORECASE,
)
_QUOTED: Final = (
    re.compile(r"[rbuf@]{0,2}\"((?:[^\"\\\n]|\\[^\n]){1,256}+)", re.IGNORECASE),
    re.compile(r"[rbuf@]{0,2}'((?:[^'\\\n]|\\[^\n]){1,256}+)", re.IGNORECASE),
    re.compile(r"`([^`\n]{1,256}+)"),
    re.compile(r"\\{1,2}[\"']([^\"'\\\n]{1,256}+)"),
)
_PLAIN: Final = re.compile(r"[^\s\"'`<>;]{1,256}+")
_TAIL: Final = re.compile(r"[^\s\"'`<>;,&)\]}\\]*+")


class Found(NamedTuple):
    """A value that goes: where it stands and what the marker calls it."""

    start: int
    end: int
    name: str


def assignments(text: str, folded: str) -> Iterator[Found]:
    """Each credential behind a keyword, in no order. ``folded`` is ``text`` in lower case, of the same length."""
    for keyword, kind in KEYWORDS.items():
        at = folded.find(keyword)
        while at >= 0:
            end = at + len(keyword)
            found = _behind(text, folded, at, end, kind)
            if found:
                yield found
                end = found.end
            at = folded.find(keyword, end)


def _behind(text: str, folded: str, at: int, end: int, kind: str) -> Found | None:
    operator = _BESIDE.match(text, end) or _OPERATOR.match(text, end)
    if operator is None:
        return None
    lead = folded[max(0, at - limits.REDACT_NAME_MAX_CHARS) : at]
    name = lead[len(lead.rstrip(_NAME_CHARS)) :] + folded[at:end]
    sure = _kind_of(name, lead + folded[at:end], kind)
    if sure is None or (operator["space"] and not (name.startswith("--") or _is_set(text, end - len(name)))):
        return None
    if operator["call"] and operator["call"].lstrip().startswith(",") and not operator["close"]:
        return None
    return _value(text, operator, name, sure)


def _is_set(text: str, at: int) -> bool:
    """Whether a command that sets a variable stands right before the name at ``at``."""
    return _SETS.search(text, max(0, at - limits.REDACT_NAME_MAX_CHARS), at) is not None


def _kind_of(name: str, lead: str, kind: str) -> str | None:
    """The kind that judge.py knows, or None where the name is one of something else."""
    joined = re.sub(r"[\W_]", "", lead)
    if kind == "key":
        return "key" if _KEPT_KEY.search(joined) or (VENDOR.match(name) and "public" not in name) else None
    if kind == "token":
        return "token" if _SURE_TOKEN.search(joined) or VENDOR.search(name) else "id"
    if (
        name.endswith("pass")
        and name.strip("-$") != "pass"
        and not name.endswith(("_pass", "-pass", "dbpass", "userpass"))
    ):
        return None
    return kind


def _value(text: str, operator: re.Match[str], name: str, kind: str) -> Found | None:
    at = operator.end()
    quoted = next((m for m in (quote.match(text, at) for quote in _QUOTED) if m), None)
    if quoted:
        start, end = quoted.span(1)
        plain = False
    else:
        unquoted = _PLAIN.match(text, at)
        if unquoted is None:
            return None
        start, end = at, _plain_end(text, operator, unquoted)
        upper = text[operator.start() - 1].isupper() and operator["sign"] == "="
        plain = not (upper or name.startswith("--"))
    if (operator["sign"] or "").strip() == "is" and not judge.by_chance(text[start:end]):
        return None
    if not judge.is_credential(text[start:end], kind, plain=plain):
        return None
    if end - start >= limits.REDACT_VALUE_LOOKED_AT_CHARS:
        tail = _TAIL.match(text, end)
        end = tail.end() if tail else end
    return Found(start, end, _marker(name, kind))


def _plain_end(text: str, operator: re.Match[str], value: re.Match[str]) -> int:
    """Where an unquoted value ends: a parameter in a URL at `&`, any other before the punctuation of the sentence around it."""
    before = text[max(0, operator.start() - limits.REDACT_NAME_MAX_CHARS) : operator.start()]
    if max(map(before.rfind, "?&#")) > before.rfind(" "):
        cut = re.search(r"[&#]", value[0])
        if cut:
            return value.start() + cut.start()
    shown = value[0].rstrip(",.:\\")
    for opening, closing in ("()", "[]", "{}"):
        if shown.endswith(closing) and opening not in shown:
            shown = shown.rstrip(closing)
    return value.start() + len(shown.rstrip(",.:\\"))


def _marker(name: str, kind: str) -> str:
    if name.endswith(("secret_access_key", "secretaccesskey")):
        return "aws-secret"
    vendor = VENDOR.search(name)
    word = {"key": "api-key", "id": "token"}.get(kind, kind)
    return f"{vendor[0]}-{word.removeprefix('api-')}" if vendor else word
