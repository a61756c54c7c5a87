"""What the settings make of one moment: budgets, gate, hold and silence, for what a person endorsed and for the rest."""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from memd_daemon import limits
from memd_daemon.model import setting_keys as keys
from memd_daemon.model.delivery import Context
from memd_daemon.model.settings import Settings
from memd_daemon.rules.situation import Gate, Terms, budget_tokens
from memd_daemon.service.repos import Place
from memd_hooks.events import Moment

BUDGET_KEYS: Final[Mapping[Moment, str]] = {
    Moment.SESSION_START: keys.START_BUDGET,
    Moment.POST_COMPACTION: keys.START_BUDGET,
    Moment.PROMPT_SUBMIT: keys.PROMPT_BUDGET,
    Moment.READ: keys.EDIT_BUDGET,
    Moment.PRE_EDIT: keys.EDIT_BUDGET,
    Moment.SUBAGENT_START: keys.SUBAGENT_BUDGET,
}

_DEFAULT_GATE: Final = Gate()


class Silence(NamedTuple):
    """The rule by which memd is silent, "" for none: for everything, and for what nobody endorsed."""

    everything: str = ""
    rest: str = ""


LOUD: Final = Silence()


def silence_at(settings: Settings, now_ms: int, *places: Place) -> Silence:
    """Whether memd is silent where somebody works: at any of these places."""
    if settings.is_default:
        return LOUD
    return Silence(_silent(settings, now_ms, places, True), _silent(settings, now_ms, places, False))


def _silent(settings: Settings, now_ms: int, places: Collection[Place], endorsed: bool) -> str:
    found = (settings.silence(place.scope, directory_of(place), now_ms, endorsed=endorsed) for place in places)
    return next((rule for rule in found if rule), "")


def directory_of(place: Place) -> str:
    """The real path where somebody stands."""
    return f"{place.checkout.root}/{place.inside}" if place.inside else place.checkout.root


def terms_of(
    settings: Settings, trigger: Moment, context: Context, person_entries: Collection[str], spent: int, now_ms: int
) -> tuple[Terms, Terms]:
    """What holds for what a person endorsed, and for the rest; the same value where nobody unsigned made a difference.

    ``person_entries``: the entry points of the client at which a person types; ``spent``: tokens of the turn's subagents so far.
    """
    if settings.is_default:
        default = Terms(budget_tokens=budget_tokens(trigger, spent))
        return default, default
    headless = is_headless(context, person_entries)
    own = _terms(settings, trigger, headless, spent, now_ms, endorsed=True)
    rest = _terms(settings, trigger, headless, spent, now_ms, endorsed=False)
    return own, own if rest == own else rest


def is_headless(context: Context, person_entries: Collection[str]) -> bool:
    """Whether nobody types in the context's client: it says so by its entry point, or nobody can be there. ``person_entries``: as
    for `terms_of`."""
    return not context.with_person or bool(context.entry_point and context.entry_point not in person_entries)


def _terms(settings: Settings, trigger: Moment, headless: bool, spent: int, now_ms: int, *, endorsed: bool) -> Terms:
    key, hold = BUDGET_KEYS.get(trigger), settings.word(keys.HOLD, now_ms, endorsed=endorsed)
    setting = settings.count(key, now_ms, endorsed=endorsed) if key else None
    return Terms(
        budget_tokens=budget_tokens(trigger, spent, setting),
        gate=gate_of(settings, now_ms, endorsed=endorsed),
        hold_enabled=hold == "on" or (hold == "interactive" and not headless),
    )


def gate_of(settings: Settings, now_ms: int, *, endorsed: bool) -> Gate:
    """What a prompt has to bring."""
    return Gate(
        cosine=settings.share(keys.COSINE, now_ms, endorsed=endorsed),
        idf_share=settings.share(keys.IDF_SHARE, now_ms, endorsed=endorsed),
    )


def gates_of(settings: Settings, now_ms: int) -> tuple[Gate, ...]:
    """Every gate that holds for some note."""
    if settings.is_default:
        return (_DEFAULT_GATE,)
    return tuple({gate_of(settings, now_ms, endorsed=endorsed) for endorsed in (True, False)})


def idle_exit_s(settings: Settings, now_ms: int) -> int:
    """Seconds without a session after which the daemon goes."""
    is_set = settings.change(keys.IDLE_EXIT, now_ms) is not None
    return settings.count(keys.IDLE_EXIT, now_ms) * limits.S_PER_HOUR if is_set else limits.IDLE_EXIT_S


def turns_kept_days(settings: Settings, now_ms: int) -> int:
    """How long a turn that nothing cites is kept. What nobody signed may lengthen it and never shorten it: turns are evidence."""
    return max(settings.count(keys.TURNS_DAYS, now_ms, endorsed=endorsed) for endorsed in (True, False))
