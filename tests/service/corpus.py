"""A thousand notes of a year's work on one repository: an order platform in Python. The same texts at every run.

`HAND_WRITTEN` are findings that stand for what people record; the rest are made of sentences with places in them, so that many
notes speak of nearly the same, as in a real store. Tests, commits, builds and reviews are among their subjects, since prompts that
mean nothing speak of these too.
"""

import random
from typing import Final, NamedTuple

SEED: Final = 7  # any one
COUNT: Final = 1_000


class Written(NamedTuple):
    """One note to be recorded."""

    content: str
    kind: str = "finding"
    priority: str = "medium"


DIRECTIVES: Final = (
    Written("Never write to the ledger tables outside of `post_entry()`; the auditors replay it.", "directive", "high"),
    Written("Every migration has to be reversible, and is reviewed by somebody of the data team.", "directive", "high"),
    Written("Answer in English, whatever language the ticket is in.", "directive", "medium"),
)

HAND_WRITTEN: Final = (
    "The integration tests need Postgres on port 5433; `make db-up` starts it, the default port is the developers' own.",
    "Run the slow tests with `pytest --runslow`; without the flag the import tests of the carriers are skipped.",
    "CI runs ruff and mypy before the tests, so a formatting fault fails the build in twenty seconds.",
    "Commit messages start with the ticket number, because the release notes are generated from them.",
    "A push to `release/*` deploys to staging at once; there is no manual step in between.",
    "The pull request template asks for a rollback plan since the outage of the price import in May.",
    "The refund worker retries five times with exponential backoff and then parks the message in the `refunds_dead` queue.",
    "Stripe webhooks arrive out of order; `apply_webhook()` compares the event's creation time before it writes.",
    "The VAT rate of an invoice is the one of the delivery country on the day of shipment, not of the order.",
    "`allocate_stock()` locks warehouse rows ordered by id, otherwise two baskets with the same articles deadlock.",
    "The nightly price import reads the supplier's CSV as Latin-1, although the supplier says it is UTF-8.",
    "The session cookie has to stay SameSite=Lax: the payment provider posts back from its own domain.",
    "Customer numbers keep their leading zeros; the ERP rejects them as integers.",
    "The Elasticsearch index of articles is rebuilt into a new alias and swapped, so searches never see half of it.",
    "`parse_gtin()` accepts eight, twelve and fourteen digits, and the check digit is verified only for fourteen.",
    "Rate limiting counts per API key in Redis with a sliding window of sixty seconds.",
    "The mobile app before version 4.2 sends quantities as strings, so the basket endpoint accepts both.",
    "Parcels to Switzerland need the customs form CN23, which the DHL adapter only makes for weights above two kilograms.",
    "The dashboard's revenue figure excludes vouchers; finance books them when they are redeemed.",
    "Flaky `test_reservation_expiry` depends on the wall clock around midnight; freeze the time at noon.",
    "The gRPC deadline of the inventory service is 300 ms, and its p99 under load is 280 ms.",
    "Feature flags are cached for thirty seconds in each worker, so a rollout is never instantaneous.",
    "Password hashes older than 2021 are bcrypt and are rewritten as Argon2 at the next login.",
    "Archived orders are in the S3 bucket `orders-cold` as Parquet, partitioned by month of delivery.",
    "The address validator treats `Straße` and `Strasse` as the same and stores what the customer typed.",
    "The scheduler's leader election uses a Postgres advisory lock with the key 4711.",
    "Money is stored in cents as bigint; `to_minor_units()` refuses more than two decimals except for KWD and BHD.",
    "The picking list prints articles by aisle, and aisle 13 does not exist in the Leipzig warehouse.",
    "Exported PDFs embed their fonts, because the archive's PDF/A check fails otherwise.",
    "The courier API answers 200 with an error object inside; `raise_for_courier()` has to be called on each answer.",
)  # fmt: skip

ON_TOPIC: Final = (
    ("open a pull request", "rollback plan"),
    ("The integration tests cannot reach Postgres on my machine, which port do they use?", "port 5433"),
    ("Why does the refund worker park messages instead of retrying them?", "exponential backoff"),
    ("Stripe webhooks seem to be applied in the wrong order, please look into apply_webhook", "apply_webhook()"),
    (
        "Which VAT rate belongs on the invoice when the delivery country changed its rate after the order?",
        "VAT rate of an invoice",
    ),
    ("two baskets deadlock in allocate_stock, find out why", "allocate_stock()"),
    ("umlauts are broken in the nightly price import of the supplier's CSV", "Latin-1"),
    ("can I set the session cookie to SameSite=Strict?", "SameSite=Lax"),
    ("leading zeros of customer numbers get lost on the way to the ERP", "leading zeros"),
    ("add GTIN-13 support to parse_gtin and verify the check digit", "parse_gtin()"),
    ("how does rate limiting count requests per API key?", "sliding window"),
    ("parcels to Switzerland are held at customs, is form CN23 missing?", "CN23"),
    ("the revenue figure on the dashboard does not match finance, is it the vouchers?", "excludes vouchers"),
    ("test_reservation_expiry failed again in CI around midnight", "test_reservation_expiry"),
    ("raise the gRPC deadline of the inventory service?", "300 ms"),
    ("where are archived orders kept, and in which format?", "orders-cold"),
    ("migrate the old bcrypt password hashes to Argon2", "Argon2"),
    ("how does the scheduler elect its leader?", "advisory lock"),
    ("to_minor_units refuses amounts in KWD, should it?", "to_minor_units()"),
    ("the PDF/A check of the archive rejects our exported PDFs", "embed their fonts"),
    ("the courier API answers 200 although the label was refused", "raise_for_courier()"),
    ("swap the Elasticsearch alias after the article index was rebuilt", "swapped"),
    ("feature flag rollout takes half a minute until all workers see it, why?", "thirty seconds"),
    ("normalize Straße and Strasse in the address validator", "address validator"),
)
"""(prompt, words of the one note that it is to bring)"""

_AREAS = ("basket", "checkout", "invoice", "refund", "voucher", "warehouse", "parcel", "supplier", "catalogue", "customer", "price",
          "tax", "return", "subscription", "notification", "forecast", "picking", "courier", "ledger", "discount")  # fmt: skip
_VERBS = ("load", "merge", "split", "reserve", "release", "validate", "export", "import", "recalculate", "schedule", "cancel",
          "archive", "publish", "reconcile", "enrich", "match")  # fmt: skip
_THINGS = ("rows", "events", "batches", "lines", "positions", "messages", "snapshots", "labels", "entries", "drafts")
_STORES = ("Postgres", "Redis", "the event bus", "S3", "Elasticsearch", "the ERP", "RabbitMQ")
_REASONS = (
    "because the ERP locks the same rows during its nightly run",
    "since the audit of March",
    "as the old mobile clients depend on it",
    "otherwise the report of the finance team is off by one day",
    "because two workers would take the same job",
    "until the contract with the carrier ends in autumn",
    "since the last outage showed that nobody watches the queue",
    "because the column is nullable in the older tenants",
)
_SENTENCES = (
    "`{fn}()` reads {things} in pages of {n} from {store}, {reason}.",
    "The {area} service keeps its {things} in {store} for {n} days, {reason}.",
    "`{fn}()` must not be called inside a transaction, {reason}.",
    "A {area} without {other} {things} is legal and shows up as empty in the back office.",
    "Tests of the {area} module use the factory `{area}_factory`, which makes {n} {things} at a time.",
    "The worker for {area} {things} runs every {n} minutes and takes a lock in {store}.",
    "`{fn}()` returns {things} sorted by creation, and the {other} screen depends on that order.",
    "The {area} endpoint answers 409 when its {things} changed meanwhile; clients repeat the call {n} times.",
    "Deleting a {area} leaves its {things} behind for {n} days, {reason}.",
    "The metric `{area}_{things}_total` counts attempts, not successes.",
    "In the {area} table the column `{other}_id` has no foreign key, {reason}.",
    "The build of the {area} image fails on ARM unless `{upper}_WHEELS` is set to the internal index.",
    "The review of the {area} code found that `{fn}()` swallows timeouts of {store}.",
    "`{upper}_{n}` in the environment switches the {area} service to the sandbox of the {other} provider.",
    "A {other} event may arrive before its {area} event, so `{fn}()` stores it and tries again after {n} seconds.",
    "The {area} importer skips {things} with a quantity above {n}, {reason}.",
    "Commits that touch `{area}/schema.py` need a regenerated client, which `make client-{area}` writes.",
    "The cache of {area} {things} is filled at start and costs about {n} MB on the largest tenant.",
    "`{fn}()` rounds half up, whereas the {other} module rounds half to even.",
    "Logs of the {area} worker hold the order number as `ref`, {reason}.",
)


def notes() -> list[Written]:
    """COUNT notes in a mixed order: the rules, the written findings, and made ones of every kind."""
    chance = random.Random(SEED)
    made: dict[str, None] = dict.fromkeys(HAND_WRITTEN)
    while len(made) < COUNT - len(DIRECTIVES):
        made[_made(chance)] = None
    kinds = ["gotcha"] * 60 + ["decision"] * 80 + ["task"] * 10
    findings = [Written(text) for text in made]
    for place, kind in zip(range(len(findings) - 1, -1, -1), kinds, strict=False):
        findings[place] = findings[place]._replace(kind=kind)
    found = [*DIRECTIVES, *findings]
    chance.shuffle(found)
    return found


def _made(chance: random.Random) -> str:
    area, other = chance.sample(_AREAS, 2)
    things = chance.choice(_THINGS)
    return chance.choice(_SENTENCES).format(
        fn=f"{chance.choice(_VERBS)}_{area}_{things}",
        area=area,
        other=other,
        things=things,
        upper=area.upper(),
        n=chance.choice((2, 5, 10, 15, 30, 50, 90, 200, 500)),
        store=chance.choice(_STORES),
        reason=chance.choice(_REASONS),
    )
