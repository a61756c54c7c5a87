"""English pairs without user-stated text: quotations, code, pastes, governed lists, Unicode tricks."""

from tests.evidence.final_pair import Language

en = Language("en")

BLOCK = "\n".join(
    f"Section {number} of the handbook says that team {number} keeps its own calendar and files a report each week."
    for number in range(1, 121)
)
LOG = "\n".join(
    f"2025-02-03 10:{number:02d}:00 INFO worker-{number} job done in {number * 7} ms" for number in range(40)
)

PAIRS = (
    en.none(
        "quotation: straight",
        'Lee wrote "Drop the audit table." and left.',
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: several sentences",
        'Lee wrote "Stop it. Drop the audit table. Bye." and left.',
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: curly",
        "Lee wrote \u201cStop it. Drop the audit table. Bye.\u201d and left.",
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: single",
        "The old page says 'Stop it. Drop the audit table. Bye.' and is wrong.",
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: nested",
        "Lee: \u201cShe said \u2018no way\u2019 twice. Drop the audit table. Bye.\u201d So much for Lee.",
        "Drop the audit table.",
        "inside the outer marks",
    ),
    en.none(
        "quotation: unbalanced",
        'Lee wrote "Stop it. Drop the audit table. Bye and thanks.',
        "Drop the audit table.",
        "after an opening mark that nothing closes",
    ),
    en.none(
        "quotation: unbalanced curly",
        "Lee wrote \u201cStop it. Drop the audit table. Bye and thanks.",
        "Drop the audit table.",
        "after an opening mark that nothing closes",
    ),
    en.none(
        "quotation: over paragraphs",
        "Lee wrote \u201cStop it.\n\nDrop the audit table.\n\nBye.\u201d",
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: sentence is all of it",
        '"Drop the audit table."\n\nThat was in the ticket.',
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "quotation: guillemets",
        "Lee wrote \u00abStop it. Drop the audit table. Bye.\u00bb and left.",
        "Drop the audit table.",
        "inside quotation marks",
    ),
    en.none(
        "code: inline",
        "The script prints `Stop it. Drop the audit table. Bye.` at the end.",
        "Drop the audit table.",
        "inside code",
    ),
    en.none(
        "code: double backticks",
        "It prints ``Stop `now`. Drop the audit table. Bye.`` at the end.",
        "Drop the audit table.",
        "inside code",
    ),
    en.none(
        "code: alone on a line",
        "`Drop the audit table.`\n\nThat is the output.",
        "Drop the audit table.",
        "inside code",
    ),
    en.none(
        "fence: plain", "Look at this:\n\n```\nDrop the audit table.\n```\n", "Drop the audit table.", "inside a fence"
    ),
    en.none(
        "fence: with a language",
        "Look at this.\n\n```text\nStop it.\n\nDrop the audit table.\n```\nThanks.",
        "Drop the audit table.",
        "inside a fence",
    ),
    en.none(
        "fence: tildes", "Look at this.\n\n~~~\nDrop the audit table.\n~~~\n", "Drop the audit table.", "inside a fence"
    ),
    en.none(
        "fence: unclosed",
        "Look at this.\n\n```\nsome output\n\nDrop the audit table.\n",
        "Drop the audit table.",
        "an unclosed fence runs to the end",
    ),
    en.none(
        "fence: longer one holds a shorter",
        "Look.\n\n````\n```\nx\n```\n\nDrop the audit table.\n````\n",
        "Drop the audit table.",
        "still inside the longer fence",
    ),
    en.none(
        "fence: tildes hold backticks",
        "Look.\n\n~~~\n```\n\nDrop the audit table.\n~~~\n",
        "Drop the audit table.",
        "still inside the tilde fence",
    ),
    en.none(
        "fence: indented",
        "Look.\n\n   ```\n   Drop the audit table.\n   ```\n",
        "Drop the audit table.",
        "inside a fence",
    ),
    en.none(
        "gt: one line",
        "The ticket says.\n\n> Drop the audit table.\n\nNo way.",
        "Drop the audit table.",
        "inside a > quote",
    ),
    en.none("gt: no space", ">Drop the audit table.\n\nNo way.", "Drop the audit table.", "inside a > quote"),
    en.none(
        "gt: nested",
        ">> Drop the audit table.\n> no\n\nI side with the second.",
        "Drop the audit table.",
        "inside a > quote",
    ),
    en.none(
        "gt: several lines",
        "> Stop it.\n> Drop the audit table.\n> Bye.\n\nNo way.",
        "Drop the audit table.",
        "inside a > quote",
    ),
    en.none(
        "gt: whole quote over lines",
        "> Drop the\n> audit table.\n\nNo way.",
        "Drop the audit table.",
        "inside a > quote",
    ),
    en.none(
        "mail: headers",
        "Got this today.\n\nFrom: Lee <lee@example.org>\nTo: Ana "
        "<ana@example.org>\nSubject: cleanup\n\nDrop the audit table.\n\nLee",
        "Drop the audit table.",
        "a pasted mail",
    ),
    en.none(
        "mail: original message",
        "See below.\n\n-----Original Message-----\nFrom: Lee\nSent: Monday\nTo: Ana\nSubject: cleanup\n\nDrop the audit table.",
        "Drop the audit table.",
        "a pasted mail",
    ),
    en.none(
        "mail: quoted reply",
        "On Mon, 3 Feb 2025 at 10:00, Lee <lee@example.org> wrote:\n> Drop the audit table.\n> Lee",
        "Drop the audit table.",
        "a quoted mail",
    ),
    en.none("log: line", "2025-02-03 10:00:01 ERROR broker: Drop the audit table.", "Drop the audit table.", "a log"),
    en.none(
        "log: many lines",
        "What is wrong with this?\n\n" + LOG + "\n2025-02-03 11:00:00 WARN Restart the broker by hand.",
        "Restart the broker by hand.",
        "a log",
    ),
    en.none(
        "log: bracketed level",
        "[10:00:01] [WARN] starting\n[10:00:02] [WARN] Restart the broker by hand.\n[10:00:03] [INFO] done",
        "Restart the broker by hand.",
        "a log",
    ),
    en.none(
        "trace: python",
        'Traceback (most recent call last):\n  File "app.py", line 3, '
        "in main\n    run()\nRuntimeError: Restart the broker by hand.",
        "Restart the broker by hand.",
        "a stack trace",
    ),
    en.none(
        "trace: java",
        'Exception in thread "main" java.lang.IllegalStateException: Restart the broker '
        "by hand.\n\tat app.Main.run(Main.java:12)\n\tat app.Main.main(Main.java:5)",
        "Restart the broker by hand.",
        "a stack trace",
    ),
    en.none(
        "diff: added line",
        "diff --git a/notes.txt b/notes.txt\n--- a/notes.txt\n+++ "
        "b/notes.txt\n@@ -1,2 +1,2 @@\n-Keep it up.\n+Drop the audit table.\n",
        "Drop the audit table.",
        "a pasted diff",
    ),
    en.none(
        "diff: removed line looks like an item",
        "diff --git a/notes.txt b/notes.txt\n--- a/notes.txt\n+++ b/notes.txt\n"
        "@@ -1,3 +1,2 @@\n intro\n- drop the audit table\n+ keep it\n",
        "drop the audit table",
        "a pasted diff",
    ),
    en.none(
        "long: block",
        "Here is the handbook.\n\n" + BLOCK,
        "Section 60 of the handbook says that team 60 keeps its own calendar and files a report each week.",
        "a long pasted block",
    ),
    en.none(
        "long: sentence hidden in a block",
        "Summarize this.\n\n" + BLOCK + "\nDrop the audit table.\n" + BLOCK,
        "Drop the audit table.",
        "a long pasted block",
    ),
    en.none(
        "list: governed by none of these",
        "Don't do any of these:\n- drop the audit table\n- restart the broker",
        "drop the audit table",
        "an item without its introduction",
    ),
    en.none(
        "list: governed, last item",
        "Don't do any of these:\n- drop the audit table\n- restart the broker by hand",
        "Restart the broker by hand.",
        "an item without its introduction",
    ),
    en.none(
        "list: governed over an empty line",
        "Things I never want to see:\n\n- secrets in the log file\n- mail sent from staging",
        "Mail sent from staging",
        "an item without its introduction",
    ),
    en.none(
        "list: numbered",
        "Rejected ideas:\n1. move the queue to disk\n2. poll every ten seconds",
        "poll every ten seconds",
        "an item without its introduction",
    ),
    en.none(
        "list: brackets",
        "Rejected ideas:\n1) move the queue to disk\n2) poll every ten seconds",
        "move the queue to disk",
        "an item without its introduction",
    ),
    en.none(
        "list: bullets",
        "Rejected ideas:\n\u2022 move the queue to disk\n\u2022 poll every ten seconds",
        "move the queue to disk",
        "an item without its introduction",
    ),
    en.none(
        "list: nested",
        "- never do this:\n  - move the queue to disk\n- always do that:\n  - poll every ten seconds",
        "move the queue to disk",
        "its list is introduced by the item above",
    ),
    en.none(
        "list: items separated by empty lines",
        "Rejected ideas:\n\n- move the queue to disk\n\n- poll every ten seconds",
        "poll every ten seconds",
        "an item without its introduction",
    ),
    en.none(
        "list: two items without the introduction",
        "Rejected ideas:\n- move the queue to disk\n- poll every ten seconds",
        "move the queue to disk\n- poll every ten seconds",
        "items without their introduction",
    ),
    en.none(
        "list: item with a sentence of its own",
        "Rejected ideas:\n- Too slow. Move the queue to disk.\n- Poll every ten seconds.",
        "Move the queue to disk.",
        "part of an item without its introduction",
    ),
    en.none(
        "list: fragment of an item",
        "- never move the queue to disk\n- poll rarely",
        "move the queue to disk",
        "not from sentence start",
    ),
    en.none(
        "unicode: zero-width space", "Never cache the login page.", "Nev\u200ber cache the login page.", "not folded"
    ),
    en.none(
        "unicode: zero-width joiner in the turn",
        "Ne\u200dver cache the login page.",
        "Never cache the login page.",
        "not folded",
    ),
    en.none("unicode: soft hyphen", "Never cache the login page.", "Never cache the log\u00adin page.", "not folded"),
    en.none(
        "unicode: Cyrillic a",
        "Never cache the login page.",
        "Never c\u0430che the login page.",
        "a homoglyph is another letter",
    ),
    en.none(
        "unicode: Greek omicron",
        "Never cache the login page.",
        "Never cache the l\u03bfgin page.",
        "a homoglyph is another letter",
    ),
    en.none(
        "unicode: added combining mark",
        "Never cache the login page.",
        "Never cache the logi\u0308n page.",
        "another letter",
    ),
    en.none(
        "unicode: stroke overlay", "Cache the login page now.", "Cache the login page n\u0338ow.", "another letter"
    ),
    en.none(
        "unicode: accent dropped",
        "Keep the r\u00e9sum\u00e9 parser alive.",
        "Keep the resume parser alive.",
        "accents do not fold",
    ),
    en.none("unicode: dotless i", "Never cache the login page.", "Never cache the log\u0131n page.", "another letter"),
    en.none(
        "unicode: full-width governor",
        "Cache the login page now.",
        "\uff2e\uff45\uff56\uff45\uff52 cache the login page now.",
        "begins no sentence in the note",
    ),
)
