"""English pairs without user-stated text: several turns, points that end no sentence, reported and supposed."""

from tests.evidence.final_pair import Language

en = Language("en")

PAIRS = (
    en.none(
        "turns: halves of two",
        ("Please always rotate the keys.", "Share the keys with nobody at all."),
        "rotate the keys. Share the keys",
        "a fragment from each turn",
    ),
    en.none(
        "turns: start here, end there",
        ("Never send mail from staging.", "It may go out from production only."),
        "Never send mail from production only.",
        "across two turns",
    ),
    en.none(
        "turns: word of another turn first",
        ("Rotate keys never, I said that already.", "rotate the keys monthly, or ask Sam"),
        "rotate the keys monthly",
        "a fragment",
    ),
    en.none(
        "abbreviation: e.g.",
        "Do nothing risky, e.g. drop the audit table.",
        "Drop the audit table.",
        "e.g. ends no sentence",
    ),
    en.none(
        "abbreviation: i.e.",
        "Be quick but careful, i.e. skip the slow tests never.",
        "skip the slow tests never",
        "i.e. ends no sentence",
    ),
    en.none(
        "abbreviation: vs.",
        "It is a matter of speed vs. keep the old index warm.",
        "keep the old index warm",
        "vs. ends no sentence",
    ),
    en.none(
        "abbreviation: Dr.",
        "No release goes out without Dr. Okafor signing the sheet.",
        "Okafor signing the sheet.",
        "a title ends no sentence",
    ),
    en.none(
        "abbreviation: No.",
        "Ignore what rule No. 5 says about retries.",
        "5 says about retries.",
        "No. ends no sentence",
    ),
    en.none(
        "abbreviation: Mr.",
        "Do not page Mr. Brandt about failed backups.",
        "Brandt about failed backups.",
        "a title ends no sentence",
    ),
    en.none(
        "abbreviation: ellipsis",
        "Never... drop the audit table.",
        "drop the audit table.",
        "dots before a small letter end no sentence",
    ),
    en.none(
        "abbreviation: version",
        "Do not move to v1.2.3 before the audit is over.",
        "2.3 before the audit is over",
        "a version's dots end no sentence",
    ),
    en.none(
        "abbreviation: file name",
        "Nobody runs setup.py install in the image.",
        "py install in the image",
        "a file's dot ends no sentence",
    ),
    en.none(
        "abbreviation: end of one",
        "Skip the slow tests, lint, etc. only on a laptop.",
        "Skip the slow tests, lint, etc.",
        "etc. before a small letter ends no sentence",
    ),
    en.none("reported: told me", "Kim told me to disable the firewall.", "disable the firewall", "a fragment"),
    en.none(
        "reported: colon",
        "Kim keeps saying: disable the firewall.",
        "Disable the firewall.",
        "a colon ends no sentence",
    ),
    en.none(
        "reported: believes", "The vendor believes retries are always safe.", "Retries are always safe.", "a fragment"
    ),
    en.none(
        "hypothetical: suppose",
        "Suppose we drop the audit table tomorrow.",
        "We drop the audit table tomorrow.",
        "a fragment",
    ),
    en.none(
        "hypothetical: would",
        "It would be easier to run everything as root, but no.",
        "run everything as root",
        "a fragment",
    ),
)
