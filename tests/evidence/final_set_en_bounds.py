"""English pairs without user-stated text: fragments, governors, conditions, questions, changed words."""

from tests.evidence.final_pair import Language

en = Language("en")

PAIRS = (
    en.none(
        "fragment: last words",
        "Never commit to the release branch.",
        "Commit to the release branch.",
        "not from sentence start",
    ),
    en.none(
        "fragment: first words",
        "Delete the temp folder only after a backup exists.",
        "Delete the temp folder",
        "not to sentence end",
    ),
    en.none(
        "fragment: middle",
        "I think we should use the slow path for now, maybe.",
        "we should use the slow path",
        "neither start nor end",
    ),
    en.none(
        "fragment: before a semicolon",
        "Retry three times; never on a timeout.",
        "Retry three times.",
        "a semicolon ends no sentence",
    ),
    en.none(
        "fragment: after a semicolon",
        "I would not say that; retry on every error.",
        "Retry on every error.",
        "a semicolon ends no sentence",
    ),
    en.none(
        "fragment: before a dash",
        "Force a full reindex every night \u2014 no, don't.",
        "Force a full reindex every night.",
        "a dash ends no sentence",
    ),
    en.none(
        "fragment: before a bracket",
        "Skip the signature check (only on the demo box).",
        "Skip the signature check.",
        "the bracket belongs to the sentence",
    ),
    en.none(
        "fragment: after a colon",
        "Bad idea: skip the signature check.",
        "Skip the signature check.",
        "a colon ends no sentence",
    ),
    en.none(
        "fragment: newline is no start",
        "Whatever happens, do not\nskip the signature check.",
        "Skip the signature check.",
        "a single newline ends no sentence",
    ),
    en.none(
        "fragment: newline is no end",
        "Skip the signature check\nonly on the demo box.",
        "Skip the signature check.",
        "a single newline ends no sentence",
    ),
    en.none(
        "fragment: newline and capital",
        "We must never\nSkip the signature check.",
        "Skip the signature check.",
        "a single newline ends no sentence",
    ),
    en.none(
        "condition: except",
        "Mock the clock everywhere, except in soak runs.",
        "Mock the clock everywhere.",
        "trailing exception dropped",
    ),
    en.none(
        "condition: unless",
        "Merge without review unless the diff touches auth.",
        "Merge without review.",
        "trailing condition dropped",
    ),
    en.none(
        "condition: if",
        "Drop the index if the import takes over an hour.",
        "Drop the index.",
        "trailing condition dropped",
    ),
    en.none(
        "condition: until",
        "Leave the flag on until the audit is done.",
        "Leave the flag on.",
        "trailing condition dropped",
    ),
    en.none(
        "condition: but only",
        "Use raw SQL there, but only for reports.",
        "Use raw SQL there.",
        "trailing condition dropped",
    ),
    en.none(
        "condition: leading if",
        "If nobody objects, drop the index tonight.",
        "Drop the index tonight.",
        "leading condition dropped",
    ),
    en.none(
        "condition: leading in",
        "In the sandbox, disable all the checks.",
        "Disable all the checks.",
        "leading condition dropped",
    ),
    en.none(
        "condition: mid words dropped",
        "Always, except on Fridays, deploy before noon.",
        "Always deploy before noon.",
        "not verbatim",
    ),
    en.none(
        "negation: do not", "Do not trust the client clock.", "Trust the client clock.", "leading negation dropped"
    ),
    en.none(
        "negation: under no circumstances",
        "Under no circumstances store plain passwords.",
        "Store plain passwords.",
        "leading negation dropped",
    ),
    en.none(
        "negation: trailing",
        "Store plain passwords is what we must not do.",
        "Store plain passwords.",
        "not to sentence end",
    ),
    en.none(
        "negation: changed",
        "Do trust the client clock here.",
        "Do not trust the client clock here.",
        "a word was added",
    ),
    en.none(
        "negation: contraction changed",
        "You can restart the broker yourself.",
        "You can't restart the broker yourself.",
        "another word",
    ),
    en.none(
        "negation: never to always", "Never gzip the export files.", "Always gzip the export files.", "another word"
    ),
    en.none(
        "governor: not true",
        "Retries are safe here.",
        "It is not true that retries are safe here.",
        "begins no sentence in the note",
    ),
    en.none(
        "governor: never say", "Retries are safe here.", "Never say: retries are safe here.", "a colon ends no sentence"
    ),
    en.none(
        "governor: never",
        "Restart the broker by hand.",
        "Never restart the broker by hand.",
        "begins no sentence in the note",
    ),
    en.none(
        "governor: clause before",
        "Restart the broker by hand.",
        "When the user is away, restart the broker by hand.",
        "begins no sentence in the note",
    ),
    en.none(
        "governor: newline alone",
        "Restart the broker by hand.",
        "What the user forbids is to\nRestart the broker by hand.",
        "a newline alone is not enough",
    ),
    en.none(
        "governor: colon and newline",
        "Restart the broker by hand.",
        "Never do this:\nRestart the broker by hand.",
        "a newline alone is not enough",
    ),
    en.none(
        "governor: semicolon",
        "Restart the broker by hand.",
        "That advice was wrong; restart the broker by hand.",
        "a semicolon ends no sentence",
    ),
    en.none(
        "governor: dash",
        "Restart the broker by hand.",
        "Obsolete \u2014 restart the broker by hand.",
        "a dash ends no sentence",
    ),
    en.none(
        "governor: comma",
        "Restart the broker by hand.",
        "No longer valid, restart the broker by hand.",
        "a comma ends no sentence",
    ),
    en.none(
        "governor: i.e.",
        "Restart the broker by hand.",
        "Avoid manual steps, i.e. restart the broker by hand.",
        "i.e. ends no sentence",
    ),
    en.none(
        "governor: version number",
        "Restart the broker by hand.",
        "Do not, as in release 2.5 restart the broker by hand.",
        "2.5 ends no sentence",
    ),
    en.none(
        "governor: quoted in the note",
        "Restart the broker by hand.",
        'The user never said "restart the broker by hand."',
        "begins no sentence in the note",
    ),
    en.none(
        "governor: Assistant prefix",
        "Restart the broker by hand.",
        "Rejected by the user: restart the broker by hand.",
        "begins no sentence in the note",
    ),
    en.none(
        "question: plain",
        "Should we restart the broker by hand?",
        "Should we restart the broker by hand?",
        "a question",
    ),
    en.none(
        "question: mark left off in the note",
        "We restart the broker by hand?",
        "We restart the broker by hand.",
        "a question",
    ),
    en.none(
        "question: fragment of one",
        "Why not just skip the signature check?",
        "just skip the signature check",
        "a question",
    ),
    en.none(
        "question: interrobang pair",
        "You want to drop the audit table?!",
        "You want to drop the audit table!",
        "a question",
    ),
    en.none(
        "question: over a newline",
        "Do you mean\nthat we drop the audit table?",
        "Do you mean that we drop the audit table",
        "a question",
    ),
    en.none(
        "question: no mark", "can we drop the audit table", "Can we drop the audit table", "a question without its mark"
    ),
    en.none("changed: number", "Set the pool size to 20.", "Set the pool size to 200.", "another number"),
    en.none("changed: decimal", "Set the ratio to 3.", "Set the ratio to 3.5 for all.", "3.5 is another number"),
    en.none(
        "changed: version", "Pin the compiler to 1.8.", "Pin the compiler to 1.8.2 today.", "1.8.2 is another version"
    ),
    en.none(
        "changed: file suffix",
        "Never edit the config.",
        "Never edit the config.yaml by hand.",
        "config.yaml is another word",
    ),
    en.none("changed: plural", "Never reuse the session.", "Never reuse the sessions.", "another word"),
    en.none("changed: longer word", "Do not touch the data.", "Do not touch the database.", "another word"),
    en.none(
        "changed: inserted word", "Use the new parser for mail.", "Use the new fast parser for mail.", "not verbatim"
    ),
    en.none(
        "changed: dropped word", "Use only the new parser for mail.", "Use the new parser for mail.", "not verbatim"
    ),
    en.none(
        "changed: synonym",
        "Remove the stale locks at start.",
        "Delete the stale locks at start.",
        "a paraphrase is not evidence",
    ),
    en.none("changed: order", "Test first and then deploy.", "Deploy first and then test.", "not verbatim"),
    en.none("changed: unit", "Keep the log for 7 days.", "Keep the log for 7 weeks.", "another word"),
    en.none("changed: sign", "Start the scan at offset 5.", "Start the scan at offset 6.", "another number"),
    en.none(
        "changed: backticks dropped",
        "Never call `reset_all` from a handler.",
        "Never call reset_all from a handler.",
        "backticks do not fold",
    ),
    en.none(
        "changed: comma inside",
        "No, retries are fine here.",
        "No retries are fine here.",
        "punctuation inside does not fold",
    ),
    en.none(
        "glue: end and start of two sentences",
        "We never reuse a token. Cache the page forever, says nobody.",
        "reuse a token. Cache the page forever",
        "two fragments",
    ),
    en.none(
        "glue: without the words between",
        "Open the port only in staging and close it after the run.",
        "Open the port and close it after the run.",
        "not verbatim",
    ),
    en.none("glue: no space", "Open the port now.", "Openthe port now.", "white space was dropped, not folded"),
)
