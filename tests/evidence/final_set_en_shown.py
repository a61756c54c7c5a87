"""English pairs whose note holds user-stated text."""

from tests.evidence.final_pair import Language

en = Language("en")

PAIRS = (
    en.whole(
        "plain: one sentence", "Never rename a public table column.", "Never rename a public table column.", "whole"
    ),
    en.whole(
        "plain: no final mark in the turn",
        "keep the parser free of regexes",
        "keep the parser free of regexes",
        "whole",
    ),
    en.whole(
        "final mark: left off in the note",
        "Keep the cache below two gigabytes.",
        "Keep the cache below two gigabytes",
        "final mark may go",
    ),
    en.whole(
        "final mark: added in the note",
        "log every retry with its reason",
        "Log every retry with its reason.",
        "final mark may go",
    ),
    en.whole(
        "final mark: exclamation",
        "Stop touching the vendor folder!",
        "Stop touching the vendor folder!",
        "not a question",
    ),
    en.whole(
        "final mark: exclamation to period",
        "Stop touching the vendor folder!",
        "Stop touching the vendor folder.",
        "mark may go",
    ),
    en.whole("case: all upper", "Never drop the audit table.", "NEVER DROP THE AUDIT TABLE.", "case folds"),
    en.whole(
        "case: first letter", "Use the blue theme for the docs.", "use the blue theme for the docs.", "case folds"
    ),
    en.whole(
        "quotes: apostrophe folds",
        "Don't sort the results by name.",
        "Don\u2019t sort the results by name.",
        "quotes fold",
    ),
    en.whole(
        "quotes: quoted word inside",
        'Never write "simply" in the manual.',
        "Never write \u201csimply\u201d in the manual.",
        "quotes fold; the sentence is not inside them",
    ),
    en.whole(
        "dash: em to hyphen",
        "Keep it small \u2014 one module is enough.",
        "Keep it small - one module is enough.",
        "dashes fold",
    ),
    en.whole(
        "dash: en to em",
        "Read lines 10\u201320 before you edit.",
        "Read lines 10\u201420 before you edit.",
        "dashes fold",
    ),
    en.whole(
        "dash: non-breaking hyphen",
        "Use a read-only connection there.",
        "Use a read\u2011only connection there.",
        "dashes fold",
    ),
    en.whole(
        "space: double and tab",
        "Ship the wheel before the container.",
        "Ship  the wheel\tbefore the container.",
        "white space folds",
    ),
    en.whole(
        "space: no-break",
        "Wait 30 seconds between two polls.",
        "Wait 30\u00a0seconds between two polls.",
        "white space folds",
    ),
    en.whole(
        "space: newline in the turn's sentence",
        "Every migration gets\na rollback script.",
        "Every migration gets a rollback script.",
        "a single newline ends no sentence",
    ),
    en.whole(
        "space: newline in the note's sentence",
        "Every migration gets a rollback script.",
        "Every migration\ngets a rollback script.",
        "white space folds",
    ),
    en.whole(
        "space: outer", "  Pin every build image.\n", "\n Pin every build image. ", "outer white space is nothing"
    ),
    en.whole(
        "several: two in order",
        "Pin every build image. Rebuild them on Mondays.",
        "Pin every build image. Rebuild them on Mondays.",
        "two whole sentences",
    ),
    en.whole(
        "several: three in order of five",
        "Hi there. Pin every image. Rebuild them weekly. Sign each of them. Thanks a lot.",
        "Pin every image. Rebuild them weekly. Sign each of them.",
        "three whole sentences",
    ),
    en.whole(
        "several: middle left out",
        "Pin every image. It is a nuisance, I know. Sign each of them.",
        "Pin every image. Sign each of them.",
        "each is whole and begins a sentence",
    ),
    en.whole(
        "several: other order",
        "Pin every image. Sign each of them.",
        "Sign each of them. Pin every image.",
        "each is whole and begins a sentence",
    ),
    en.whole(
        "several: two turns",
        ("Pin every image.", "Sign each of them."),
        "Pin every image. Sign each of them.",
        "each is whole in its own turn",
    ),
    en.whole(
        "several: over a paragraph end",
        "Pin every image.\n\nSign each of them.",
        "Pin every image.\n\nSign each of them.",
        "an empty line ends a sentence on both sides",
    ),
    en.part(
        "append: page's own shape",
        "Never add client-side rounding.",
        "never add client-side rounding to the invoice view.",
        "never add client-side rounding",
        "what follows is the note's",
    ),
    en.part(
        "append: a condition of the note",
        "Never squash the release branch.",
        "Never squash the release branch unless a person asks.",
        "Never squash the release branch",
        "what follows is the note's",
    ),
    en.part(
        "append: a clause after a comma",
        "Never squash the release branch.",
        "Never squash the release branch, because tags point into it.",
        "Never squash the release branch",
        "what follows is the note's",
    ),
    en.part(
        "append: a further sentence",
        "Prefer plain functions over classes.",
        "Prefer plain functions over classes. The handlers module was rewritten that way.",
        "Prefer plain functions over classes.",
        "first sentence only",
    ),
    en.part(
        "append: a further paragraph",
        "Prefer plain functions over classes.",
        "Prefer plain functions over classes.\n\nThis concerns the handlers module.",
        "Prefer plain functions over classes.",
        "first paragraph only",
    ),
    en.part(
        "precede: own sentence",
        "Always quote shell variables.",
        "The lint job failed twice. Always quote shell variables.",
        "Always quote shell variables.",
        "follows a sentence end",
    ),
    en.part(
        "precede: own exclamation",
        "Always quote shell variables.",
        "Mind the scripts! Always quote shell variables.",
        "Always quote shell variables.",
        "follows a sentence end",
    ),
    en.part(
        "precede: own paragraph without a mark",
        "Always quote shell variables.",
        "About the scripts\n\nAlways quote shell variables.",
        "Always quote shell variables.",
        "follows an empty line",
    ),
    en.part(
        "precede: sentence end and newline",
        "Always quote shell variables.",
        "The lint job failed twice.\nAlways quote shell variables.",
        "Always quote shell variables.",
        "follows a sentence end",
    ),
    en.part(
        "both: own text around",
        "Always quote shell variables.",
        "The lint job failed twice. Always quote shell variables. It passes now.",
        "Always quote shell variables.",
        "only the middle is the user's",
    ),
    en.part(
        "prefix: User",
        "never cache the login page",
        "User: never cache the login page",
        "never cache the login page",
        "follows User:",
    ),
    en.part(
        "prefix: User after a paragraph",
        "Never cache the login page.",
        "Login speed.\n\nUser: Never cache the login page.",
        "Never cache the login page.",
        "follows User:",
    ),
    en.whole(
        "paragraphs: second one",
        "Thanks for the fix.\n\nKeep the old endpoint alive until May.",
        "Keep the old endpoint alive until May.",
        "an empty line ends a sentence",
    ),
    en.whole(
        "paragraphs: first without a mark",
        "keep the old endpoint alive\n\nThanks for the fix.",
        "keep the old endpoint alive",
        "an empty line ends a sentence",
    ),
    en.whole(
        "paragraphs: blank line with spaces",
        "keep the old endpoint alive\n   \nThanks for the fix.",
        "keep the old endpoint alive",
        "an empty line ends a sentence",
    ),
    en.whole(
        "list: item without an introduction",
        "- cap the queue at fifty jobs\n- drop the oldest job first",
        "cap the queue at fifty jobs",
        "a marker ends a sentence; no introduction",
    ),
    en.whole(
        "list: last item without an introduction",
        "- cap the queue at fifty jobs\n- drop the oldest job first",
        "drop the oldest job first",
        "a marker ends a sentence",
    ),
    en.whole(
        "list: numbered without an introduction",
        "1. cap the queue at fifty jobs\n2. drop the oldest job first",
        "drop the oldest job first",
        "a marker ends a sentence",
    ),
    en.whole(
        "list: both items as sentences",
        "- Cap the queue at fifty jobs\n- Drop the oldest job first",
        "Cap the queue at fifty jobs. Drop the oldest job first.",
        "each is whole and begins a sentence",
    ),
    en.whole(
        "list: introduction and all items",
        "Do these before a release:\n- run the smoke tests\n- tag the commit",
        "Do these before a release:\n- run the smoke tests\n- tag the commit",
        "items together with their introduction",
    ),
    en.whole(
        "list: introduction and first item",
        "Do these before a release:\n- run the smoke tests\n- tag the commit",
        "Do these before a release:\n- run the smoke tests",
        "item together with its introduction",
    ),
    en.whole(
        "list: introduction after an empty line",
        "Do none of these here:\n\n- rename a column\n- drop a table",
        "Do none of these here:\n\n- rename a column\n- drop a table",
        "items together with their introduction",
    ),
    en.whole(
        "list: stars",
        "Remember for the parser:\n* keep it in one file\n* keep it free of regexes",
        "Remember for the parser:\n* keep it in one file\n* keep it free of regexes",
        "items together with their introduction",
    ),
    en.whole(
        "question: sentence after one",
        "Is the queue slow? Cap the queue at fifty jobs.",
        "Cap the queue at fifty jobs.",
        "the second sentence is no question",
    ),
    en.whole(
        "question: sentence before one",
        "Cap the queue at fifty jobs. Is that too low?",
        "Cap the queue at fifty jobs.",
        "the first sentence is no question",
    ),
    en.whole(
        "quotation: sentence after a closed one",
        'Lee wrote "drop the table." Keep the table for now.',
        "Keep the table for now.",
        "outside the quotation marks",
    ),
    en.whole(
        "quotation: plural apostrophe is none",
        "Don't move the users' folders. Keep the old paths working.",
        "Keep the old paths working.",
        "apostrophes are no quotation",
    ),
    en.whole(
        "code: name inside a sentence",
        "Never call `reset_all()` from a handler.",
        "Never call `reset_all()` from a handler.",
        "the sentence is not inside the code",
    ),
    en.whole(
        "fence: sentence before",
        "Format the table like this.\n\n```\na | b\n```",
        "Format the table like this.",
        "outside the fence",
    ),
    en.whole(
        "fence: sentence after",
        "```\nmake all\n```\n\nRun that only in the container.",
        "Run that only in the container.",
        "outside the closed fence",
    ),
    en.whole(
        "gt: sentence after a quote",
        "> drop the table today\n\nI disagree with that, keep the table.",
        "I disagree with that, keep the table.",
        "outside the quote",
    ),
    en.whole(
        "abbreviation: whole sentence with one",
        "Use a small model, e.g. the tiny one, for tests.",
        "Use a small model, e.g. the tiny one, for tests.",
        "whole",
    ),
    en.whole(
        "abbreviation: title",
        "Only Dr. Okafor may approve a schema change.",
        "Only Dr. Okafor may approve a schema change.",
        "whole in either reading",
    ),
    en.whole(
        "number: version whole", "Stay on version 4.1.7 until June.", "Stay on version 4.1.7 until June.", "whole"
    ),
    en.whole(
        "number: file name whole",
        "Put the limits into limits.toml only.",
        "Put the limits into limits.toml only.",
        "whole",
    ),
    en.whole(
        "unicode: full-width letters",
        "Never cache the login page.",
        "\uff2e\uff45\uff56\uff45\uff52 cache the login page.",
        "NFKC folds",
    ),
    en.whole(
        "unicode: ligature", "Refine the first filter only.", "Re\ufb01ne the \ufb01rst \ufb01lter only.", "NFKC folds"
    ),
    en.whole(
        "unicode: decomposed accent",
        "Keep the caf\u00e9 fixture as it is.",
        "Keep the cafe\u0301 fixture as it is.",
        "NFKC folds",
    ),
    en.whole(
        "condition: kept whole",
        "Never mock the clock, except in unit tests.",
        "Never mock the clock, except in unit tests.",
        "the whole sentence with its exception",
    ),
)
