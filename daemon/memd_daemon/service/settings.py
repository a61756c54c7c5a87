"""Settings: how they stand, how one is changed, and every change there was (trust-boundary.md, "Policy and settings").

A change is one event on the store's own subject. Anybody may make one unsigned, within what model/settings.py lets it do; with
``sign`` it comes back as a plan, as an act on an endorsed note does. A person types a length of time or a directory; what is stored
is when a pause ends, and the repository's scope, or the real path of a directory outside git.
"""

import difflib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from memd_client import api
from memd_daemon import errors, limits
from memd_daemon.frames import told as sentences
from memd_daemon.frames import words
from memd_daemon.ground.repository import real_path
from memd_daemon.model import event as ev
from memd_daemon.model.ids import uid_from_text, uid_text
from memd_daemon.model.setting_keys import KEYS, LISTS, NOT_PAUSED, OPEN_END, PAUSE, Key, Value, moment, written
from memd_daemon.model.settings import TYPE, Change, Settings, traced
from memd_daemon.model.trust import NO_CONTENT
from memd_daemon.service.asker import Asker, asker_of
from memd_daemon.service.explain import iso
from memd_daemon.service.names import is_safe
from memd_daemon.service.notices import bears, is_list_told
from memd_daemon.service.parts import Parts
from memd_daemon.service.people import PlanBook, SignedAct, key_in_use
from memd_daemon.service.refused import NotIgnorable
from memd_daemon.service.repos import path_of, place_of
from memd_daemon.service.text import quoted, told_back
from memd_daemon.store.port import Draft, Snapshot, Txn

OFF: Final = "off"
"""How a pause that there is not is told, and typed."""

_PART: Final = re.compile(r"(\d{1,6})([mhd])")
_TIME: Final = re.compile(r"(?:\d{1,6}[mhd])+")
_MS: Final = {"m": limits.MS_PER_MINUTE, "h": limits.S_PER_HOUR * limits.MS_PER_S, "d": limits.TIME_MS_PER_DAY}


def told(parts: Parts, request: api.Settings) -> api.SettingsReply:
    """Every setting, or one. Raises UnknownSetting."""
    keys = [_key(request.key)] if request.key else list(KEYS.values())
    with parts.store.read() as snapshot:
        settings = parts.settings(snapshot)
        return api.SettingsReply(settings=[_out(snapshot, settings, key, parts.now_ms()) for key in keys])


def changed_from_default(parts: Parts, snapshot: Snapshot) -> list[api.SettingOut]:
    """The settings on which a change stands."""
    settings, now_ms = parts.settings(snapshot), parts.now_ms()
    return [_out(snapshot, settings, key, now_ms) for key in KEYS.values() if settings.change(key.name, now_ms)]


def _key(name: str) -> Key:
    key = KEYS.get(name)
    if key is None:
        near = difflib.get_close_matches(
            name[: limits.SETTING_NAME_MAX_CHARS], KEYS, n=1, cutoff=limits.SETTING_NEAR_SHARE
        )
        meant = f" (did you mean `{near[0]}`?)" if near else ""
        raise errors.UnknownSetting(told_back(name), meant)
    return key


def _out(snapshot: Snapshot, settings: Settings, key: Key, now_ms: int) -> api.SettingOut:
    change = settings.change(key.name, now_ms)
    return api.SettingOut(
        key=key.name,
        value=_shown(snapshot, key.name, settings.value(key.name, now_ms)),
        default=_shown(snapshot, key.name, key.default),
        is_set=change is not None,
        signed=change is not None and change.signed,
        at=iso(change.at) if change else "",
        actor=change.actor if change else "",
        surface=change.surface if change else "",
        session=change.session if change else "",
        says=key.says,
        takes=key.takes,
        policy=settings.locks[key.name].surface if key.name in settings.locks else "",
    )


def _shown(snapshot: Snapshot, key: str, value: Value) -> int | float | str | list[str]:
    """The value as people read it."""
    if key == PAUSE:
        return OFF if value == NOT_PAUSED else written(key, value)
    return [path_of(snapshot, one) or one for one in value] if isinstance(value, tuple) else value


def log_of(parts: Parts, request: api.SettingsLog) -> api.SettingsLogReply:
    """Every change of a setting that can be read, oldest first, with what it did at its place. Raises UnknownSetting."""
    wanted = _key(request.key).name if request.key else ""
    store = parts.store.info.store
    with parts.store.read() as snapshot:
        events = [
            _event_out(snapshot, change, effect)
            for _, change, effect in traced(snapshot.events_of(store), store)
            if change is not None and wanted in ("", change.key)
        ]
    return api.SettingsLogReply(events=events)


def _event_out(snapshot: Snapshot, change: Change, effect: str) -> api.SettingEventOut:
    shown = "" if change.value is None else _shown(snapshot, change.key, change.value)
    return api.SettingEventOut(
        uid=uid_text(change.event),
        key=change.key,
        value="" if shown == "" else _words(shown),
        at=iso(change.at),
        actor=change.actor,
        surface=change.surface,
        session=change.session,
        signed=change.signed,
        effect=effect,
    )


# --- one change


Make = Callable[[Settings], str]
"""What is to stand of a key, as the text of an event, after what stands of it; "" takes it back."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One change asked for."""

    key: Key
    make: Make
    sign: bool

    def is_news(self, settings: Settings, now_ms: int) -> bool:
        """Whether it would change anything. Raises SettingLocked, SettingSigned, SettingsChurned."""
        name = self.key.name
        if name in settings.locks:
            raise errors.SettingLocked(name, settings.locks[name].surface)
        standing, text = settings.change(name, now_ms), self.make(settings)
        if standing is not None and standing.signed and not self.sign:
            raise errors.SettingSigned(name, words.date(standing.at))
        if standing is None or not text:
            is_news = standing is not None or bool(text)
        else:
            is_news = standing.value != self.key.read(text) or (self.sign and not standing.signed)
        if is_news and text and not self.sign and not settings.has_room(now_ms):
            raise errors.SettingsChurned(limits.SETTINGS_UNSIGNED_MAX, name)
        return is_news


def change(parts: Parts, plans: PlanBook, request: api.ChangeSetting) -> api.ChangedSetting:
    """Carries out one change, or gives the plan of a signed one.

    Raises UnknownSetting, BadSetting, NotIgnorable, SettingSigned, SettingsChurned, SettingLocked, NoKey; then nothing is recorded.
    """
    key = _key(request.key)
    wanted = Wanted(key=key, make=_make(parts, key, request), sign=request.sign)
    asker = asker_of(parts.ledger, request.env, request.surface)
    with parts.store.read() as snapshot:
        settings = parts.settings(snapshot)
        if not wanted.is_news(settings, parts.now_ms()):
            return api.ChangedSetting(setting=_out(snapshot, settings, key, parts.now_ms()), effect="kept")
        if request.sign:
            return _planned(parts, plans, snapshot, wanted, asker)
        has_key = snapshot.key_in_use() is not None

    def work(txn: Txn) -> None:
        store = parts.store.info.store
        standing = parts.known_settings.within(txn, store)
        if wanted.is_news(standing, parts.now_ms()):
            payload = ev.SettingChanged(key=key.name, value=wanted.make(standing))
            txn.append(
                [parts.draft(TYPE, store, payload, asker=asker, parents=standing.heads)],
                at=parts.now_ms(),
            )

    parts.store.write(work)
    with parts.store.read() as snapshot:
        settings = parts.settings(snapshot)
        out = _out(snapshot, settings, key, parts.now_ms())
    told_of = sentences.setting_unsigned(_tells(settings, key.name, parts.now_ms()), has_key=has_key)
    return api.ChangedSetting(setting=out, effect="applied", told=[told_of])


def _tells(settings: Settings, key: str, now_ms: int) -> str:
    """Which sessions hear of the newest change of a key, which was not signed."""
    stands = settings.change(key, now_ms) is not None
    if key == PAUSE:
        return sentences.TELLS_OF_PAUSE if stands else sentences.TELLS_OF_PAUSE_OVER
    if key in LISTS:
        change = settings.stands[key].later
        is_told = change is not None and is_list_told(settings, change, now_ms)
        return sentences.TELLS_OF_LIST if is_told else sentences.TELLS_OF_LIST_BACK
    return sentences.TELLS_OF_SETTING if stands and bears(key) else sentences.TELLS_NOBODY


def _planned(parts: Parts, plans: PlanBook, snapshot: Snapshot, wanted: Wanted, asker: Asker) -> api.ChangedSetting:
    settings, now_ms, key = parts.settings(snapshot), parts.now_ms(), wanted.key
    key_id = key_in_use(parts, snapshot)
    text = wanted.make(settings)
    payload = ev.SettingChanged(key=key.name, value=text)
    store, head = parts.store.info.store, snapshot.head()
    event = parts.event(TYPE, store, payload, asker=asker, parents=settings.heads, key_id=key_id, head=head)
    body = ev.encode_event(event)
    before = _shown(snapshot, key.name, settings.value(key.name, now_ms))
    after = _shown(snapshot, key.name, key.read(text) if text else key.default)
    content, revision = NO_CONTENT
    signed = SignedAct(
        body=body,
        content="",
        salt=b"",
        digest=content,
        revision=revision,
        act="set" if text else "unset",
        id=0,
        change=f"{_words(before)} -> {_words(after)}",
        kind="",
        scope="",
        priority="",
    )

    def finish(signatures: list[bytes]) -> api.Sealed:
        def work(txn: Txn) -> None:
            wanted.is_news(parts.known_settings.within(txn, event.note), parts.now_ms())  # it may be locked by now
            txn.append([Draft(body=body, sig=signatures[0])], at=parts.now_ms())

        parts.store.write(work)
        return api.Sealed(id=0, uid=uid_text(event.uid))

    plan = plans.open(parts, [signed], key_id, finish)
    return api.ChangedSetting(setting=_out(snapshot, settings, key, now_ms), effect="planned", plan=plan)


def _words(shown: int | float | str | list[str]) -> str:
    return " ".join(shown) or "none" if isinstance(shown, list) else str(shown)


# --- what a person types


def _make(parts: Parts, key: Key, request: api.ChangeSetting) -> Make:
    """Raises BadSetting, NotIgnorable."""
    if request.how == "unset":
        return lambda _: ""
    if key.name in LISTS:
        return _make_list(parts, key, request)
    if request.how != "set" or len(request.values) != 1:
        raise errors.BadSetting(key.name, quoted(" ".join(request.values)), f"one value, {key.takes}")
    given = request.values[0].strip()
    text = _end_of_pause(parts, key, given) if key.name == PAUSE else _checked(key, given, given)
    return lambda _: text


def _checked(key: Key, text: str, given: str) -> str:
    """The text as an event holds it. Raises BadSetting."""
    return written(key.name, _read(key, text, given))


def _read(key: Key, text: str, given: str) -> Value:
    """Raises BadSetting."""
    try:
        return key.read(text)
    except (ValueError, OverflowError):
        raise errors.BadSetting(key.name, quoted(given), key.takes) from None


def _end_of_pause(parts: Parts, key: Key, given: str) -> str:
    """`on`, a length of time, or its end, as an event holds it; "" for `off`. Raises BadSetting for one out of bounds."""
    if given == OFF:
        return ""
    now_ms = parts.now_ms()
    if _TIME.fullmatch(given):
        end_ms = now_ms + sum(int(count) * _MS[unit] for count, unit in _PART.findall(given))
    else:
        end_ms = int(str(_read(key, given, given)))
        if end_ms == OPEN_END:
            return written(PAUSE, end_ms)
    if not limits.SETTING_PAUSE_MIN_MS <= end_ms - now_ms <= limits.SETTING_PAUSE_MAX_MS:
        raise errors.BadSetting(PAUSE, quoted(given), key.takes)
    return moment(end_ms)


def _make_list(parts: Parts, key: Key, request: api.ChangeSetting) -> Make:
    if request.how not in ("set", "add", "remove"):
        raise errors.UnknownWord("change", quoted(request.how), "set, unset, add, remove")
    is_new = request.how != "remove"
    if not all(one.strip() for one in request.values):  # it would mean the directory where somebody stands
        raise errors.BadSetting(key.name, quoted(""), key.takes)
    given = [_repository(parts, request.cwd, one, is_new=is_new) for one in request.values]

    def make(settings: Settings) -> str:
        standing = settings.listed(key.name, parts.now_ms())
        if request.how == "remove":
            listed = [one for one in standing if one not in given]
        else:
            listed = [*(standing if request.how == "add" else ()), *given]
        return (
            _checked(key, written(key.name, tuple(dict.fromkeys(listed))), " ".join(request.values)) if listed else ""
        )

    return make


def _repository(parts: Parts, cwd: str, given: str, *, is_new: bool) -> str:
    """The scope of the repository in which a directory lies; the real path of one that lies in none. Raises NotIgnorable."""
    if given.startswith("repo:") and uid_from_text(given.removeprefix("repo:")):
        return given
    path = Path(real_path(str(Path(cwd) / given)))
    if is_new and not os.path.isdir(path):  # noqa: PTH112 -- Path raises for a name that no directory can have
        raise NotIgnorable(quoted(given), "there is no such directory")
    if not is_safe(str(path)) or not str(path).isprintable():
        raise NotIgnorable(quoted(given), "its path cannot be kept as it is")
    place = place_of(parts, str(path))
    return place.scope if place.checkout.common else str(path)
