"""Every number of the daemon: the unit in the name, the reason in a comment.

Numbers of the hook path and of the wire stand in memd_client.wire, since a hook may import nothing of the daemon.
"""

from typing import Final

# notes, as in model.md
CONTENT_MAX_BYTES: Final = 8 * 1024  # one claim; what is longer is a document
SUMMARY_MAX_CHARS: Final = 160  # what a tombstone quotes on one line
LINE_MAX_CHARS: Final = 160  # every other free text that stands in a line of memd's own
GIVEN_MAX_CHARS: Final = 128 * 1024  # of a content or a reason as given: redacted in 50 ms, more than keys take out
REASON_MAX_BYTES: Final = 2 * 1024  # `show` has room for it; a line shows its first LINE_MAX_CHARS
PUSHABLE_MAX_TOKENS: Final = 500  # a longer directive or gotcha could never arrive in its budget
TAGS_MAX: Final = 20  # a header line stays a line
ANCHORS_MAX: Final = 50  # each is hashed at a read of the note
PROPOSALS_APART_MAX: Final = (
    32  # of one note, told apart by act and other note; it decides what a fold is, so all stores share it
)
NAMED_NOTES_MAX: Final = 64  # that one write names as its sources, or takes in: each is looked up and told with it
EVIDENCE_MAX: Final = 50  # excerpts of one write: each is looked for in its turn
ANCHOR_DIGEST_BYTES: Final = 16  # truncated SHA-256: 2**64 files before a chance collision
ANCHOR_FILE_MAX_BYTES: Final = 64 * 1024 * 1024  # a larger file is compared by size and time alone
EVIDENCE_AUTO_MAX: Final = 10  # sentences that a write binds by itself, of those the user said: more are a pasted text
EVIDENCE_SENTENCE_MAX_CHARS: Final = 8 * 1024  # around an excerpt, kept with it: as much as a note may say
QUOTED_SENTENCE_MAX_CHARS: Final = 400  # three lines; a longer one stands in `show` alone, since nothing is cut off it
QUOTES_SHOWN_MAX: Final = 3  # of the user's sentences below one note; `show` has them all
RECALL_DEFAULT_K: Final = 10  # a screenful
RECALL_MAX_K: Final = 100  # the union that fusion weighs
TRACE_STEPS_MAX: Final = 100  # notes that one trace tells, either way: more is read step by step
TRACE_TURN_MAX_CHARS: Final = 2000  # of a turn behind a note, around what was bound; `turns` has it whole

# delivery, as in delivery.md
BUDGET_START_TOKENS: Final = 2000  # session start and compaction, the envelope included
BUDGET_PROMPT_TOKENS: Final = 800
BUDGET_EDIT_TOKENS: Final = 600  # a read, or the edit itself
BUDGET_SUBAGENT_TOKENS: Final = 600  # one subagent's start
BUDGET_SUBAGENTS_TURN_TOKENS: Final = 4000  # all subagents of one turn together
REVOKED_DIRECTIVES_MAX_TOKENS: Final = 300  # tombstones stand last at a start, and may not crowd out rules
LEFT_OUT_IDS_MAX: Final = 10  # then "and k others"
WARNINGS_ALIKE_MAX: Final = 5  # of one kind on one note, the others are counted: no other kind would have room
RENDERING_DIGEST_BYTES: Final = 16
GATE_COSINE: Final = 0.53  # unnormalized similarity at which a note may interrupt a prompt (scripts/calibrate_gate.py)
GATE_TABLE_COSINE: Final = 0.33  # the same for the token table's vectors, whose cosines are lower throughout
GATE_IDF_SHARE: Final = 0.60  # share of the prompt's idf mass that a note's words carry
GATE_WEIGHT_MIN: Final = 12.0  # of what both speak of: two words of which each stands in no more than one note of 400
GATE_WORDS_COSINE: Final = 0.35  # similarity that words alone need, by the full vectors and by the table's
GATE_WORDS_TABLE_COSINE: Final = 0.18
GATE_TERMS_MIN: Final = 2  # content terms that must match where no identifier does
ENDORSED_LOOKED_AT_MAX: Final = (
    500  # signed notes, the newest, that a prompt which finds many others is held against: 5 ms once
)
PROMPT_CANDIDATES: Final = 20  # what may pass the gate at one prompt, before the budget decides

# ground, as in staleness.md
GROUND_DEADLINE_MS: Final = (
    20  # a status that takes longer is told as "changed since — verify" now, and truly next time
)
SHEBANG_MAX_BYTES: Final = 200  # a first line that names its interpreter does so in a few dozen
SYNTAX_FILE_MAX_BYTES: Final = 1024 * 1024  # of source: 20,000 lines are read in 150 ms; longer is a program's
SYNTAX_READ_BYTES: Final = 2 * 1024  # handed to the parser at once, and copied for each text that is taken of a node
SYNTAX_STEPS_MAX: Final = (
    50_000  # looks of the parser at whether to go on: 5,000 to a MiB of code, ten times that if broken
)
SYNTAX_READS_MAX: Final = (
    2_000  # of a place anew: code takes some twenty, while thousands of comment lines in a row take minutes
)
SYNTAX_NODES_MAX: Final = 500_000  # of one file: hashing them takes 0.2 s
SYNTAX_DIGEST_FORMAT: Final = 1  # of what a symbol's digest is over; a change makes every older one incomparable
SYMBOLS_MAX: Final = 20_000  # of one file
SYMBOL_MAX_CHARS: Final = 1_000  # a qualified name with its type arguments; what is longer is no name
SYMBOL_DEPTH_MAX: Final = 16  # names within names; deeper than any person writes
KEY_DOTS_MAX: Final = 100  # in one key of a settings file, or one piece of its text; more are nobody's
VALUE_LOOKED_THROUGH_MAX_CHARS: Final = 4 * 1024  # of one that is told, for credentials: some 2 ms on the way of a hook
VALUE_CUT_CHARS: Final = (
    512  # at the end of a longer one, not told: a credential that was cut there is not known for one
)
NUMBER_MAX_CHARS: Final = 200  # of one literal that is compared by its value; beyond it is text
LINES_LOOKED_AT_MAX: Final = 1_000  # windows of one file hashed to find a stretch of lines again, the nearest first
LINES_HASHED_MAX_BYTES: Final = 4 * 1024 * 1024  # in these together: 10 ms
PARSED_BYTES_PER_MS: Final = 3 * 1024  # of source, at least; what there is no time for waits behind the answer
GIT_DEADLINE_S: Final = 5.0  # a git call off the hook path
GIT_HISTORY_DEADLINE_S: Final = (
    60.0  # of reading a whole history behind the answers: a million commits take a few seconds
)
FLAGS_WAITING_MAX: Final = 10_000  # stale flags that are to be written: a few hundred bytes each
BEHIND_WAITING_MAX: Final = 100  # pieces of work behind the answers
BEHIND_WAITING_MAX_BYTES: Final = 64 * 1024 * 1024  # what they hold: of the largest messages four
BEHIND_CROWDED: Final = 16  # pieces that wait: then hooks go first no more, or there would be no room for others
BEHIND_YIELDS_MS: Final = 20  # a piece of work behind answers waits so long for hooks that are on their way
HOOK_GONE_S: Final = 0.002  # after its answer until a hook's process has ended; then what waits behind hooks begins
BEHIND_LINGERS_S: Final = 60  # its thread waits so long for more: beginning one costs a hook a millisecond
THREAD_TURN_S: Final = (
    0.0005  # a hook waits so long for the interpreter where another thread computes; Python's own is 5 ms
)
GIT_REPOSITORY_DEADLINE_S: Final = 0.1  # the first look at a directory stands on the hook path
RENAME_LOOK_MS: Final = 5_000  # of git's questions about one file that is gone, all together
RENAME_SLOW_LOOK_MS: Final = 500  # likewise where one took longer just now: a recall may ask for many
RENAME_SLOW_S: Final = 300.0  # "just now"
GIT_AT_WORK_S: Final = 30.0  # a lock of the index that is older was most likely left behind by a git that died
RENAME_MISSING_KNOWN_S: Final = 60.0  # then what was not found is looked for again, though no branch has moved
RENAMES_KNOWN_MAX: Final = 10_000  # answers kept: a few hundred bytes each
RENAME_LIKE_PERCENT: Final = 50  # of a file that is the same at another path, as git has it
RENAME_APART_LIKE_PERCENT: Final = (
    70  # likewise between two commits far from each other, where chance has more to choose from
)
RENAME_MARGIN: Final = 20  # percent by which it has to be more alike than any other, or nobody knows which
RENAME_PAIRS_MAX: Final = 1_000  # files on each side that git compares; with more, equal contents alone are found
RENAME_HOPS_MAX: Final = 16  # renames of one file, one after the other
RENAME_COMMITS_MAX: Final = 100  # that took one path away; which was the first of more, nobody asks
RENAME_BRANCHES_MAX: Final = 16  # looked at for one that has the file
RENAME_UNTRACKED_MAX: Final = 5_000  # files that git does not know, among which a moved one is looked for
RENAME_READ_MAX: Final = 50  # of these so many are read
RENAME_VERSIONS_MAX: Final = 500  # commits that touched one path, through which an old text is looked for
EARLIER_LOOK_MS: Final = 2_000  # of looking for what one anchor was about: a person waits for a page of them
DIFF_PAIRS_MAX: Final = 1_000_000  # lines of one text times lines of the other: a second of comparing at most
DIFF_LINES_MAX: Final = 40  # told of one diff: a screen
DIFF_LINE_MAX_CHARS: Final = 400  # of one line: three of a terminal's
GIT_TOLD_KEPT_BYTES: Final = 8 * 1024 * 1024  # of answers that no commit can change: many files are gone in one rename
GIT_TOLD_MAX_BYTES: Final = 1024 * 1024  # of one such answer

# commits as notes
COMMIT_FILES_MAX: Final = 20  # then "+n"
REFLOG_LOOKED_AT: Final = 1000  # moves of HEAD among which a spooled commit is looked for
REFLOG_MOVE_AND_BEFORE: Final = 2  # the newest move of HEAD, and the one before it, whose commit it may have amended
COMMIT_SUBJECT_MAX_CHARS: Final = 160

# turns
TURN_MAX_BYTES: Final = 1024 * 1024  # a longer prompt is stored up to here, and says so
SPOOL_ROUND_MS: Final = 50  # of a prompt's deadline: what is left of the spool then is taken in behind it
SAME_PROMPT_TURNS: Final = 50  # of a session, among which equal words under one prompt id are looked for
SAME_PROMPT_WINDOW_MS: Final = 2000  # two hook entries of one event, where the harness gives no prompt id
SAME_START_WINDOW_MS: Final = (
    2000  # likewise of a start or a compaction: no hook of theirs lives longer, and a summary alone takes as long
)
EVENTS_HEARD_MAX: Final = 1_000  # by which a second word of one is known: it comes within moments
EVENT_NAME_BYTES: Final = 16  # of a digest, by which an event is known after a restart
SESSIONS_CONTINUED_MAX: Final = 16  # forked or cleared from one another, whose notes hold on

# evidence: which words of a note are the user's own (evidence.md; evidence/ says how)
EVIDENCE_TURNS_MAX: Final = 50  # turns that one note is held against: as many as one write binds
EVIDENCE_TURN_LOOKED_AT_CHARS: Final = 32 * 1024  # of one turn: what follows is mostly a paste; a few ms at the worst
EVIDENCE_LOOKED_AT_CHARS: Final = 128 * 1024  # of all turns of one note: some tens of ms at the worst
EVIDENCE_NESTED_MAX: Final = 32  # quotation marks and brackets open at once: what has more is no prose
EVIDENCE_ALIKE_MAX: Final = 64  # sentences of a turn that are tried at one place of a note
EVIDENCE_MATCH_WEIGHT: Final = 6  # of a match: three words (evidence.md), or what weighs as much
EVIDENCE_WORD_WEIGHT: Final = 2
EVIDENCE_UNSPACED_WEIGHT: Final = 1  # of a character in a script without spaces: a word there has two or so
EVIDENCE_WORD_MAX_CHARS: Final = 24  # looked at around an end for a word that decides: none in the tables is longer
EVIDENCE_QUESTION_LOOKED_AT_CHARS: Final = 80  # of a sentence's beginning, which tells that it asks
EVIDENCE_NAME_MAX_CHARS: Final = 60  # of a name behind a dash, which says whose words a paragraph is
EVIDENCE_YEAR_DIGITS: Final = 4  # a number as long is a year or a port, and no ordinal: a full stop behind it may end
EVIDENCE_PASTED_CHARS: Final = 1200  # a paragraph longer than that was pasted: 200 words without an empty line
EVIDENCE_PASTED_LINES: Final = 15  # likewise in lines
EVIDENCE_TYPED_MAX_CHARS: Final = 8000  # of one prompt: who types more in a message has pasted a document
EVIDENCE_CHAIN_MAX: Final = 4  # sentences quoted with one that hangs on them
EVIDENCE_CHARS_KNOWN_MAX: Final = 8_192  # characters and words whose folding or weight is remembered: 100 bytes each
EVIDENCE_OUTLINES_KNOWN_MAX: Final = (
    128  # of turns, for as long as they are asked for: a session's last ones; mostly 5 KB each
)
EVIDENCE_OUTLINE_KNOWN_MAX_CHARS: Final = (
    2_000  # of a turn whose outline is kept: 150 KB where it is nothing but list markers
)
EVIDENCE_QUOTED_MAX: Final = 8  # sentences below one note: more would be longer than the note
EVIDENCE_ALTERNATIONS_MAX: Final = 6  # between the user's words and the rest: more stripes are not read

# recall, as in recall.md; floors by scripts/calibrate_floor.py: the highest by which stores of 26 and of 330 notes find no less
RECALL_FLOORS: Final = {"full": (0.12, 0.25), "table": (0.10, 0.20)}  # of a note, of the nearest (service/bearing.py)
RECALL_NAMED_MAX: Final = 3  # of what was left out, where nothing comes
TIER_PRIOR: Final = {"system": 1.00, "operator": 0.75, "corroborated": 0.50, "unverified": 0.25}
CONFIDENCE_START: Final = {"human": 1.0, "agent": 0.7, "auto": 0.4}
CONFLICT_COST: Final = 0.2  # taken from the note that stood first, once a pair
NEWCOMER_CONFIDENCE_MAX: Final = 0.5  # of the note that brings the conflict
HALF_LIFE_DAYS: Final = {"agent": 90.0, "auto": 30.0}  # an inference decays; the user's words and endorsed notes do not
CORROBORATION_BONUS: Final = 0.05
CORROBORATIONS_COUNTED: Final = 3
NEAR_DUPLICATE_SHARE: Final = 0.6  # words in common (Jaccard) at which the answer of a write names a note
SAME_CLAIM_SHARE: Final = (
    0.6  # of content words in common, where the one has all of the other's, that makes one claim of two texts
)
NEAR_VECTOR_COSINE: Final = 0.88  # of the token table's vectors of two texts, at which the answer names a note likewise
NEAR_VECTOR_SHARE: Final = 0.5  # words in common below which no vector is asked: it would be the subject alone
SAME_AS_SHARE: Final = (
    0.3  # content words in common at which two texts speak of one matter, where the writer says they do
)
SAME_AS_COSINE: Final = 0.5  # likewise, of the token table's vectors: other words for it
SLUG_MAX_CHARS: Final = 80  # a name, not a sentence: half a line
NEAR_TERMS: Final = (
    12  # the rarest words of a text, by which what is near to it is looked for: 40% of a long claim of 30
)
NEAR_CANDIDATES: Final = 6  # of these so many are compared with it: nobody reads through more
DERIVED_SHINGLE_SHARE: Final = 0.3  # model.md, section 5
SHINGLE_WORDS: Final = 3

# where words come from, as in evidence.md (index/shingles.py says what these make sure of)
SHINGLE_UNITS: Final = 5  # words of one hash: of four, many are everybody's ("at the end of")
SHINGLE_WINDOW: Final = 2  # neighbours of which one is kept: two thirds of all, 5.3 bytes a word
UNSPACED_UNIT_WEIGHT: Final = 0.5  # a character of a script without spaces: a word there has two
COPIED_WORDS: Final = (
    12.0  # in a row that a tool's result has: a claim taken from there. 14 in a row are sure to give them
)
COPIED_SHORT_WORDS: Final = (
    6.0  # enough where they are COPIED_SHARE of the note: of 8 copied words a note is told to be a copy
)
COPIED_SHARE: Final = 0.5
COPIED_RULE_WORDS: Final = 10.0  # in a row that make no directive: who asks for a rule can say it in words of his own
BURST_NOTES: Final = (
    5  # of one source within the window, each of which the last supports: nobody says a thing five times
)
BURST_WINDOW_MS: Final = 15 * 60 * 1000
BURST_SHARE: Final = (
    0.4  # content words in common (Jaccard) by which one note supports another; of one module two have 0.1
)
BURST_COSINE: Final = (
    0.76  # likewise of the token table's vectors: rewordings have 0.77 to 0.95, two findings of one module 0.65
)
BURST_LOOKED_AT_MAX: Final = 1_000  # notes of the window that a new one is held against: 2 ms
RESULT_MAX_CHARS: Final = 1024 * 1024  # of one result, its beginning and its end: ten times what a model is shown
RESULT_HASHES_SESSION_MAX: Final = 500_000  # 4 MB: some million tokens of results; then the oldest result goes
RESULTS_SESSION_MAX: Final = 4_000  # likewise: many tools say a few words each
RESULT_HASHES_MAX: Final = 1_500_000  # 12 MB, of all sessions
RESULTS_MAX: Final = 20_000
RESULTS_LATELY_MS: Final = 24 * 3600 * 1000  # a write outside any session is held against every session's results since
RESULT_FIRST_S: Final = (
    0.1  # before a result is taken apart: the hooks of what was called beside it have passed by then
)
RESULTS_WAITING_MAX: Final = (
    2_000  # to be taken apart: where one is left out, a note of its words would count as its writer's own
)
RESULT_STRETCH_WORDS: Final = 500  # taken apart at once, in half a millisecond
RESULT_REST_S: Final = 0.0002  # then: enough for whoever waits for the interpreter to have it
RESULTS_WAIT_S: Final = 5.0  # a write waits so long for results that have come and were not looked at yet
RESULT_FILES_MAX: Final = 64  # of the repository, that a command and its output name and that are looked at
RESULT_NAMES_MAX: Final = 2_000  # words of a call, and lines of its output, that may name them
RESULT_FOLDERS_MAX: Final = 6  # that the call names, from which they are looked for too
RESULT_FILE_MAX_BYTES: Final = (
    2 * 1024 * 1024
)  # a larger one is nobody's prose; what is read of it counts as a document's
FILES_TRACKED_KNOWN_MAX: Final = 10_000  # of which it is known that git has them
QUERY_VALUE_MAX_CHARS: Final = 15  # of an address's parameter: no secret in the table is shorter than 16

# the daemon
IDLE_EXIT_S: Final = 8 * 3600  # without a session
IDLE_LOOK_S: Final = 900.0  # between two looks at whether it is time: a shorter setting is heeded by then
DESCRIPTORS_MAX: Final = 65_536  # more connections than a machine has processes
LOOK_FAILED_S: Final = 60.0  # until one that failed is taken again: what it failed by may have passed
DOOR_LOOK_S: Final = 2.0  # between two looks whether it can still be found: a command waits ten for a daemon
STOP_GRACE_S: Final = 5.0  # work in flight is finished, then the daemon goes
LEAVING_WAIT_S: Final = 15.0  # for the one that leaves, to be its successor: its grace, and what it still writes down
LEAVING_LOOK_S: Final = 0.02  # between two looks whether it has gone: a session's start waits for the answer
LEAVE_MAX_S: Final = 60.0  # for closing stores and indexes; then the process ends: what was acknowledged is on disk
WEDGED_PING_MS: Final = 1_000  # a ping waits for no work and no disk; a daemon under load answers it within 50
WEDGED_PINGS: Final = 4  # missed one after the other: it is told to go (a command waits ten seconds for a daemon)
WEDGED_LEAVE_PINGS: Final = 2  # missed after that: it is ended
KILLED_WAIT_S: Final = 5.0  # for a process that was ended to be gone: the kernel writes back what it had mapped
LOG_FILE_MAX_BYTES: Final = 1024 * 1024
LOG_FILES_KEPT: Final = 3
QUERY_EMBEDDING_SHARE_MS: Final = (
    60  # of a prompt's deadline: the full embedding replaces the table's if it is there by then
)
REPLY_MARGIN_MS: Final = 20  # kept back from a hook's deadline for the way home
TIME_MS_PER_DAY: Final = 86_400_000
MS_PER_S: Final = 1000
S_PER_HOUR: Final = 3600
MS_PER_MINUTE: Final = 60_000
NS_PER_MS: Final = 1_000_000

# the store
STORE_FORMAT: Final = 1
MAP_RESERVED_BYTES: Final = 1 << 40  # 1 TiB of address space takes 12 KB of disk
LEDGER_MAP_RESERVED_BYTES: Final = 1 << 36
MAP_SMALLEST_BYTES: Final = (
    1 << 26
)  # where the address space is limited (ulimit -v), less is reserved, and grown as needed
MAP_GROW_WAIT_S: Final = 5.0  # a map grows when no snapshot is open; no reader holds one for so long
LOST_TOLD_DAYS: Final = 7  # of calls that were lost on a full disk; as of an enrolment
START_PAGES_MAX: Final = (
    16_384  # of a file that may not be as the last daemon left it: looked through at a start in 0.4 s
)
FLAWS_NAMED_MAX: Final = 3  # in one line; the first of a table mostly brings the others
LOCK_FILE_BYTES: Final = 36_864  # LMDB's lock file with STORE_READERS_MAX places of 64 bytes, in whole pages
DISK_FULL_BYTES: Final = 256 * 1024  # less room than one commit may need: a write cut short was cut by this
STORE_READERS_MAX: Final = 512  # snapshots open at once, over all processes that look at the store
COMMIT_EVENTS_MAX: Final = 65_535  # an event's index has 16 bits
HYBRID_TIME_MAX: Final = (1 << 63) - 1  # the year 6429; one from elsewhere beyond it would leave no room to count on
BACKUP_FORMAT: Final = 1
BACKUP_MANIFEST_MAX_BYTES: Final = 64 * 1024  # a hundred times what is in one
TAR_BLOCK_BYTES: Final = 512  # what a tar archive is made of
EXPORT_FORMAT: Final = 2
EXPORT_FORMAT_PLAIN: Final = 1  # of an export with nothing in it that came with 2: an older memd reads it
EXPORT_PIECE_BYTES: Final = 512 * 1024  # of one answer: some ms to make, then others have their turn
EXPORTS_OPEN_MAX: Final = 4  # each holds a snapshot, which keeps freed pages from being used again
EXPORT_IDLE_S: Final = 60.0  # without a question for its next part: whoever wanted it has gone
IMPORT_BATCH_EVENTS: Final = 1_000  # in one commit of the store that is being made
IMPORT_LINE_MAX_BYTES: Final = 64 * 1024 * 1024  # the longest prompt that a hook carries, all of it escaped in JSON
IMPORT_TEXT_MAX_BYTES: Final = (
    64 * 1024
)  # twice the longest that memd writes: a sentence of 8,192 characters of four bytes
IMPORT_NUMBER_MAX: Final = 1_000_000_000  # of a note or a turn: a thousand times what a store is made for
IMPORT_TURNS_GONE_MAX: Final = 1_000_000  # turns past their time between two of an export: thirty years of prompts
IMPORT_STRETCHES_MAX: Final = 1_000  # of numbers that are passed over: one comes with a restore
IMPORT_TOLD_MAX: Final = 20  # wrong lines that are named; the rest is counted
KEPT_STORES_OF_A_SECOND_MAX: Final = 1_000  # folders of one time: a restore takes longer than that many do
EXCHANGE_STOP_TRIES: Final = 5  # a hook may start a daemon between its end and the lock
EXCHANGE_TOLD_EVERY_S: Final = 0.2  # a person's eye
FAULTS_TOLD_MAX: Final = 3  # of a store that is to be put in place; `memd verify` has them all
CHECK_SLICE_MS: Final = 1  # of looking through the store at a time: a hook waits no longer for its turn
CHECK_REST_MS: Final = 9  # then; so that it takes a tenth of one core at most
LET_GO_SLICES: Final = 100  # then what was looked at goes back to the system: some tens of MB of a store
LEDGER_LET_GO_S: Final = (
    30.0  # between two times that the ledger's pages go back: fifty busy sessions fill 1 MB of them
)
WATCH_START_WAIT_S: Final = 0.5  # between two looks whether the indexes are in
WATCH_START_WAITS: Final = 120  # then it begins without them
SIGNED_LOOK_WAIT_S: Final = 0.25  # an answer waits so long to know what is signed; of a large store the rest follows
REBUILT_SLICE_MS: Final = 2  # of making rows anew in one write: a prompt's waits no longer for its turn
REBUILD_REST_MS: Final = 2  # then: who waits for the interpreter or the writer has it by then
GROUP_COMMIT_MAX_WRITES: Final = 256  # concurrent writes that share one fsync
DIGESTS_KNOWN_MAX: Final = 1_000  # of names in keys: a hook asks for those of its session thirty times
TOLD_KNOWN_MAX: Final = 500  # contexts, turns, and moves of files, kept as they were read: a few kilobytes each
HOOK_LIFE_MAX_MS: Final = 5_000  # no hook's deadline lies further ahead: a call that is due later than that began here
REPLIES_KEPT: Final = (
    1_000  # newest answers of hooks, kept whatever their age: a request that comes again is answered the same
)
REPLY_KEPT_MS: Final = 600_000  # an older answer than that is dropped behind them; a hook has ended long before
LEDGER_PAGE_ROWS: Final = 256  # deliveries read with one snapshot, so that a slow reader holds none
DELIVERIES_AT_HAND_MAX: Final = 64  # newest of a session, looked through for one of the last five seconds
DELIVERIES_KEPT_DAYS: Final = 90  # as long as turns; that a note was shown to a session is known as long as the note
TURNS_KEPT_DAYS: Final = 90  # evidence.md; one that a note's evidence cites stays with the note
CLOCK_LEAP_DAYS: Final = (
    14  # of the clock between two looks: a fortnight without memd is a holiday, more is looked at twice
)
CLOCK_SETTLES_DAYS: Final = 7  # nobody works for a week by a wrong date
PRUNE_FIRST_S: Final = 120.0  # after a start, when the hooks of a session that begins have been answered
PRUNE_EVERY_S: Final = 24 * 3600.0
PRUNE_AT_ONCE: Final = (
    16  # deliveries or contexts in one write: some hundred rows, about a millisecond that a hook may wait
)
ASKED_AT_ONCE_MAX: Final = 256  # notes of one answer that are recorded in one write; a list of everything takes several
HOOK_SAMPLES_KEPT: Final = 512  # durations per event that `status` takes its percentiles from

# ground, kept and read
RACY_MTIME_MS: Final = 50  # a file written this shortly before it was hashed may be written again under the same mtime
FILE_READ_TRIES: Final = 3  # of a file that is written to while it is read; then nothing is known of it
GROUND_FILES_KNOWN_MAX: Final = 100_000  # states of files kept in memory; past it they are hashed anew
GROUND_STATUSES_KNOWN_MAX: Final = 4_000  # of what notes are about, as their files were seen last: about 500 bytes each
GROUND_CONTENTS_KNOWN_MAX: Final = (
    10_000  # with what was found out about each: a few hundred bytes, and a parse each spared
)
GROUND_HELD_MAX_BYTES: Final = 8 * 1024 * 1024  # of files that one answer takes apart and holds for its other notes
SOURCE_MAX_BYTES: Final = 4 * 1024 * 1024  # of a file read whole; no part of a larger one is compared
MENTIONS_MAX: Final = 8  # files that a content names by path, whose hashes are kept
MENTION_WORDS_MAX: Final = 64  # of a content that may be paths and are looked for on the disk
ANCHOR_WALK_MAX: Final = 20_000  # names looked at for a bare file name outside git: some 50 ms
ANCHOR_CHOICES_MAX: Final = 5  # of files or symbols that a refusal offers
FOOTINGS_KNOWN_MAX: Final = 1_000  # files that sessions named, and where they lie: about 1 KB each
CHECKOUTS_KNOWN_MAX: Final = 200  # directories that hooks came from: a few hundred bytes each
TURN_LOOKED_AT_EVERY_S: Final = 2.0  # behind answers that tell a note which is bound to it: a client writes as fast
READINGS_KNOWN_MAX: Final = 4_000  # of contents against the user's words: about 1 KB each, a few ms spared
VIEWS_KNOWN_MAX: Final = 4_000  # of rules, and of notes on files under edit: about 2 KB each
DERIVED_KNOWN_MAX: Final = 8  # of one lookup: two, and two more for each of three checkouts, or of how one was before
CATCH_UP_COMMITS_MAX: Final = 64  # looked through for what they bear on; after more everything is made anew
GROUND_PATHS_OF_CONTENT_MAX: Final = 4  # at which one content was seen: copies beyond that are nobody's rename
SIEVE_BITS: Final = 1 << 20  # 128 KiB: of 100,000 digests, 3 in 100 others pass it
SIFT_PAUSE_S: Final = 10  # between two times that all digests are gone through
SIFTED_AT_ONCE: Final = 500  # about a millisecond, with the reading of their rows
MOVED_FILE_MIN_BYTES: Final = 16  # smaller files are alike by chance: an empty `__init__.py`
MOVED_FILE_MAX_BYTES: Final = 1024 * 1024  # hashed in a few ms; a larger one is not followed
MOVED_LOOK_PAUSE_S: Final = 30  # between two looks for what is gone, behind files that no gotcha is about
MOVED_GOTCHAS_LOOKED_AT: Final = 500  # behind a session's start: their files are hashed once, and then only looked at
FOLDERS_KNOWN_MAX: Final = 2_000  # of which it is known whether they fold case: a path each
FOLDER_LISTED_MAX: Final = 20_000  # names of one that does; listing more takes longer than a hook may
REPOSITORY_PATHS_MAX: Final = 50  # clones of one repository that are remembered: more are nobody's habit
REPOSITORY_NAMES_MAX: Final = 64  # stores whose notes hold in one repository of ours: each name is looked up
REPOSITORY_NAMES_HEARD_MAX: Final = 32  # of these by word of third stores: one export can name as many as it likes
REPOSITORY_NAMES_OF_STORE_MAX: Final = 4  # of one store: it knows a remote as one repository, save before a restore
REPOSITORY_SAID_MAX: Final = (
    64  # remotes and first commits of one repository of another store: all are looked up when one is seen
)
GIT_FILE_MAX_BYTES: Final = 1024 * 1024  # of HEAD, config and their like
GIT_LINE_MAX_CHARS: Final = 4096  # of a config: a longer one is nobody's remote
PATH_MAX_CHARS: Final = 4096  # no system takes a longer path

# redaction (evidence.md, "Turns"; redact/judge.py says how the values are judged)
REDACT_WORD_MIN_CHARS: Final = 16  # no kind in the table is shorter, and few words of prose are as long
REDACT_NAME_MAX_CHARS: Final = 40  # looked at before a keyword: `my_service_production_api_` and some room
REDACT_PASSWORD_MIN_CHARS: Final = (
    6  # a shorter one protects nothing, and shorter values behind the word are mostly types
)
REDACT_PASSPHRASE_MIN_CHARS: Final = 20  # letters alone, in quotes: longer than a name without a separator is
REDACT_KEY_MIN_CHARS: Final = 16  # 64 bits in hex, the shortest a service gives out
REDACT_QUOTED_KEY_MIN_CHARS: Final = 12  # in quotes it is a literal, so less is needed to tell it from code
REDACT_KEY_DISTINCT: Final = 8  # different characters in a key of letters and digits
REDACT_CHANGES_MIN: Final = 3  # changes of character class: `oauth2_v2` has two
REDACT_CHANGES_SHARE: Final = 0.2  # of the length: names stay below, random strings above (by measure, redact/judge.py)
REDACT_PLACEHOLDER_DISTINCT: Final = 3  # `xxxxxxxx`, `abababab`: nobody's key
REDACT_ARMOUR_MIN_CHARS: Final = 8  # between BEGIN and END: less is `...`, or a word of a sentence about the two lines
REDACT_WRAPPED_AT_CHARS: Final = (64, 76)  # where base64 is wrapped: by openssl, and by base64 and every mail
REDACT_VALUE_LOOKED_AT_CHARS: Final = 256  # of one value; what goes on behind them goes with it

# --- index, as in model-choice.md
EMBED_WINDOW_TOKENS: Final = 256  # the length the sentence model was trained for
QUERY_BEGINNING_CHARS: Final = 24 * 1024  # searched for by words and vectors: 0.1 s at the worst
QUERY_END_CHARS: Final = 8 * 1024  # likewise of a longer one, where a question stands behind a pasted log
QUERY_WINDOW_TOKENS: Final = 1024  # of a prompt in the token table: what follows is mostly a pasted log
BYTES_PER_TOKEN: Final = 4  # a run of letters without a space is one token to WordPiece, whatever its length
EXACT_MAX_NOTES: Final = 10_000  # of one scope: below, comparing with every vector takes a few ms and misses none
RERANK_VECTORS: Final = 100  # int8 neighbours ranked again by exact vectors: recall .995 at 100k
EXACT_FIRST_ROWS: Final = 16  # most scopes are a session's and stay small
EXACT_BLOCK_ROWS: Final = 512  # widened to float32 at once: 0.8 MB, stays in the cache
GRAPH_BLOCK_ROWS: Final = 512  # added to a graph in one call: others get their turn in between
UNSAVED_VECTORS_MAX: Final = 1_000  # changes beside a mapped index, which refuses them; then it is time to save
HEAP_ARENAS_MAX: Final = 2  # of the C allocator: threads share them, since few allocate at once
HEAP_LARGE_BLOCK_BYTES: Final = 1024 * 1024  # a larger one goes back when freed; below, page faults would slow a search
FILE_BLOCK_BYTES: Final = 1024 * 1024  # read at once for a checksum
FUSION_CANDIDATES: Final = 100  # of each list
FUSION_COSINE_LOW: Final = (
    0.15  # of a short list: what a text has with one that says nothing of it, and so no relevance
)
FUSION_COSINE_HIGH: Final = 0.5  # there: near enough to count whole; about where the gate opens for a full vector
FUSION_LEXICAL_WEIGHT: Final = 0.5  # 0.5 to 0.7 are level on the evaluation sets together (scripts/bench_retrieval.py)
TERM_MAX_CHARS: Final = 100  # of one indexed word: a longer one is nobody's word
WORD_FIELD_WEIGHTS: Final = {"stem": 1.0, "exact": 0.25, "gram": 1.0}  # an exact word counts beside its stem
BM25_K1: Final = 1.2  # the lexical library's own two constants, so that pending notes score like committed ones
BM25_B: Final = 0.75
QUERY_TERMS_MAX: Final = 64  # the rarest of a prompt's terms: the rest moves no rank, and each costs its posting list
IDF_PRIOR_NOTES: Final = 1_000  # notes without the word that evidence imagines beside a store of any size
IDENTIFIER_WEIGHT: Final = 2.0  # of evidence, in words: nobody writes one by chance, and it is made of two or more
PAIR_WEIGHT: Final = 0.5  # of evidence, in words: a word of a script without spaces gives two pairs
WORDS_TIES_MAX: Final = (
    500  # equally good hits that are looked through for those of the smallest ids; a fraction of a ms
)
WORDS_REBUILD_NOTES: Final = 1_000  # committed at once in a rebuild: pending notes take about 6 KB each
WORDS_WRITER_BYTES: Final = 15_000_000  # the least that the lexical library takes for a writer

# proof of a person
PLAN_LIFE_MS: Final = 10 * 60 * 1000  # time to read a plan and type a passphrase
PLANS_WAITING_MAX: Final = 256  # a person reads one at a time, and each holds a whole content

# settings (model/settings.py), as in trust-boundary.md
SETTING_START_MIN_TOKENS: Final = 500  # of a start's bundle: the floor under what directives get
SETTING_BUDGET_MAX_TOKENS: Final = 8_000  # beyond what any client takes in one answer
SETTING_COSINE_MIN: Final = 0.2  # below, every text resembles every other
SETTING_IDLE_MIN_HOURS: Final = 1
SETTING_IDLE_MAX_HOURS: Final = 720  # a month
SETTING_TURNS_MIN_DAYS: Final = 1
SETTING_TURNS_MAX_DAYS: Final = 3_650  # ten years
SETTING_PAUSE_MIN_MS: Final = 60 * 1000
SETTING_PAUSE_MAX_MS: Final = 365 * 24 * 3600 * 1000  # a longer one has no end that anybody waits for
SETTINGS_UNSIGNED_MAX: Final = 200  # changes in a day: a list that is filled one by one, and back; 20 ms to read again
SETTING_LISTED_MAX: Final = 100  # repositories in one list
SETTING_NAME_MAX_CHARS: Final = 100  # of a mistyped one that are compared
SETTING_NEAR_SHARE: Final = 0.5  # of a mistyped key, in common with the one that was probably meant

# notices: memd's own lines at the top of a start's bundle
NOTICE_TOLD_MS: Final = (
    24 * 3600 * 1000
)  # an unsigned pause that ended, a list that was changed, a stop: told to every start of a day
NOTICE_ENROLMENTS_MAX: Final = 3  # then "and n more"
NOTICES_MAX_TOKENS: Final = (
    600  # of all of them: a pause, two lists, a stop, three keys; no number of lines keeps rules from their client
)
STOP_MARK_MAX_BYTES: Final = 4096  # of run/stopped, which anybody of this user may have written

# policy files (model/policy.py); how large one may be stands in memd_client.policy_signing, since a client signs it
POLICY_FILES_MAX: Final = 32  # of one folder: each is looked at again when a session starts
POLICY_ENTRIES_MAX: Final = 1_000  # of a folder that are looked through for them
POLICY_DIRECTIVES_MAX: Final = 50  # of one file: more than a session's start has room for
POLICY_TEXT_MAX_BYTES: Final = 2_000  # of one directive: 500 tokens, as of any that can arrive (PUSHABLE_MAX_TOKENS)
POLICY_LEAVES_TOKENS: Final = 200  # of a bundle's budget, to everything else: room to name what did not fit
POLICY_LINKS_MAX: Final = 40  # symbolic links on the way to a file, as the system itself allows
POLICY_LOST_TOLD_MS: Final = 7 * 24 * 3600 * 1000  # a file of another user that counts no more is told of for a week

# the socket and its workers
WORKER_THREADS: Final = 8  # a write that waits for the disk shares it with the others (group commit)
PEER_WAITING_MAX: Final = (
    64  # requests of one connection that wait for a worker; a client sends its next one after an answer
)
PEER_IN_HAND_MAX: Final = (
    2  # of these in hand at once: who asks without waiting gets no more of the workers than two that wait
)
WAITING_MAX: Final = 1_024  # of all connections together, beyond the first of each
WAITING_MAX_BYTES: Final = 48 * 1024 * 1024  # what they hold: the largest message three times
RECEIVED_AT_ONCE_MAX: Final = 64  # then answers that are ready go out first
CONNECTIONS_MAX: Final = 1_024  # at once: a person has some dozen, and thirty hooks at once are many; each takes 27 KB
CONNECTIONS_AHEAD: Final = 1_001  # that libzmq accepts before it waits to be heard: the length of its queue of events
CONNECTIONS_HEARD_AT_ONCE_MAX: Final = 64  # then requests are received
CONNECTIONS_LOOK_S: Final = 0.1  # between two looks at who is busy, while something moves: 0.1 ms each
CONNECTIONS_FIRST_LOOK_S: Final = 0.03  # the first look once something moves again: most hooks are answered by then
DESCRIPTORS_OWN: Final = 256  # of the daemon's own files: some sixty, and those that are being read
TRAFFIC_MAX_BYTES: Final = (
    384 * 1024 * 1024
)  # beyond the least that was seen: what waits may be 48 MB, and the model and large indexes take some 200 MB
TRAFFIC_WATCHED_BYTES: Final = 256 * 1024 * 1024  # of the same: then the kernel says who sends between two looks
PARTS_SKIPPED_AT_ONCE: Final = 4_096  # frames of a message over its bounds: 5 ms, then answers go out
SOCKET_LINGER_MS: Final = 500  # for answers in flight at a stop
HANDSHAKE_MAX_MS: Final = 5_000  # a peer that connects and says nothing is dropped
SOCKET_PATH_MAX_BYTES: Final = 100  # sun_path holds 103 on macOS, 107 on Linux, and libzmq adds none
SHORT_NAME_CHARS: Final = 16  # of a digest, where a name has to be short
SHORT_PLACE: Final = "/tmp"  # noqa: S108 - only a private folder in it is used; there on every system, whatever the environment names

# names and inputs
SALT_BYTES: Final = 16  # of a blob; a plan's token is as long
UID_RANDOM_BYTES: Final = 10  # 74 bits are used
QUOTED_INPUT_MAX_CHARS: Final = 40  # of a wrong word that a refusal repeats
NAME_DIGEST_CHARS: Final = 32  # hexadecimal digits of a digest that stands for a path
NOTE_ID_MAX_DIGITS: Final = 18  # below 2**63
SHA_SHOWN_CHARS: Final = 12  # of a commit: no chance collision in any one repository
ID_SHOWN_CHARS: Final = (
    9  # of a session's or a subagent's id in a line: eight and an ellipsis tell two apart for a person
)
ROOM_RULES_MAX: Final = 500  # rules of one place: the largest budget has room for no more, at 16 tokens a frame
WHY_PATHS_MAX: Final = 200  # that one question names: a millisecond each
WHY_FILES_MAX: Final = 5  # of a note's files whose read and edit are foretold: more are asked for by name
LOG_DELIVERIES_MAX: Final = (
    50_000  # the newest, looked through for those of one note: half a second; then the log says so
)

# the indexes behind the daemon
MARK_DIGEST_BITS: Final = 24  # of an index's mark: by which the store it was made from is known again
VECTOR_KEY_ID_BITS: Final = 48  # of a vector's key; above them stands which wording of the note it is
IDENTIFIER_JUDGED_CHARS: Final = 256  # of a run of word characters, when it is told from prose
INDEX_RETRY_S: Final = 30.0  # after an error, where no write comes first: a disk is not emptied in a moment
EMBED_BATCH_NOTES: Final = 16  # taken from the queue at once, and stored with one sync
EMBED_QUIET_S: Final = 0.05  # without a new note: a burst of writes has the machine to itself
EMBED_PATIENCE_S: Final = 0.2  # then a vector is computed all the same
WORDS_WAIT_S: Final = (
    20.0  # an explicit question waits this long for an index that is loading; a rebuild of 10,000 notes takes 5
)
SAID_KNOWN_MAX: Final = 4096  # notes recorded last that are known by what they say, until the word index has them
RECALL_QUEUE_WAIT_S: Final = 1.0  # for vectors of what was written just now: a batch takes that long on a slow machine
RECALL_QUEUE_NOTES_MAX: Final = 16  # a longer queue is an import, which nobody waits for: one batch
WORDS_PENDING_MAX: Final = 200  # searched in memory until then; a commit of the word index costs 30 to 150 ms

NAMES_KNOWN_MAX: Final = 1_000  # ids and paths whose redaction is remembered: a session's come with each of its hooks

REQUESTS_OPEN_MAX: Final = 1_000  # hook calls whose receipts may still come: they come within milliseconds

# transcripts of clients, by which a turn is known to have been typed
TRANSCRIPT_READ_BYTES: Final = (
    8 << 20
)  # of what was written since the prompt: half an hour of a busy session, parsed in some 10 ms
TRANSCRIPT_LEAD_BYTES: Final = (
    512 << 10
)  # before it, for the rows that the prompt's goes on from: the largest seen is 57 KB
TRANSCRIPT_FIRST_BYTES: Final = 64 << 10  # of its first line, which says what was started: 22 KB with Codex
TRANSCRIPT_MAX_BYTES: Final = 2 << 30  # no conversation is larger; only a stretch of it is read
TRANSCRIPT_ROUND_MS: Final = 200  # for all turns of one question: what is not looked at by then says so
RAISE_SETTLES_MS: Final = 600_000  # the longest that a client lets one command hold up what it writes itself
WITNESSES_LOOKED_AT: Final = 50  # turns of a session, for a live one that a turn out of the spool can lean on
LOOK_PAUSE_MS: Final = (
    1_000  # before the first look at a turn behind a hook's answer; each further pause is twice as long
)
LOOKS_MAX: Final = (
    10  # so the last comes after RAISE_SETTLES_MS; what did not agree by then is looked at when it is asked for
)
LOOKS_KEPT_MAX: Final = 1_000  # turns that are looked at again, and findings of what has not grown: the oldest goes
SOCK_DIAG_BY_FAMILY: Final = 20  # the message by which Linux is asked about one socket (linux/sock_diag.h)
SOCK_DIAG_WAIT_S: Final = 0.05  # for its answer, which takes 20 us
SOCK_DIAG_ANSWER_BYTES: Final = 4_096

# calls of memd's own tools
CALL_DIGEST_BYTES: Final = 16  # by which the call that was held back is known when it comes again
CALL_AWAITED_MS: Final = 3600 * 1000  # between the hook and the call a person may be asked for leave
CALLS_AWAITED_MAX: Final = 1_000  # calls that were told and never came: the oldest goes

# contexts
DECISIONS_KNOWN_MAX: Final = (
    256  # decisions kept: of starts one for each repository, of edits one for each file at work
)
CONTEXT_PATHS_MAX: Final = 200  # files read or edited that a context remembers
CONTEXT_HEARD_MS: Final = 10_000  # between two writes that say of a context only that it was heard of
NS_PER_US: Final = 1_000
MEDIAN: Final = 0.5
PERCENT: Final = 100
TAIL: Final = 0.99  # the slowest of a hundred: what a user remembers

# status
STATUS_STALE_MAX: Final = 200  # flagged notes that are read to know that they stand: a few ms
STATUS_STATED_LOOKED_AT: Final = 50  # rules, the newest, of which a status says whether they are the user's own words
STATUS_DELIVERIES_LOOKED_AT: Final = 300  # the newest, of which a status names the last that told something: a few ms
STATUS_QUEUE_MAX: Final = 10_000  # waiting vectors are counted up to here
ENROLMENT_TOLD_DAYS: Final = 7  # trust-boundary.md
SESSION_LIVE_MS: Final = 24 * 3600 * 1000  # without a hook for longer, a session is not listed as live
COSTS_KNOWN_MAX: Final = 50_000  # texts whose cost is remembered: 24 bytes each and the key
OFFER_OPEN_MS: Final = 5_000  # an offer without a receipt counts as standing this long; no hook lives longer

# the Model Context Protocol
MCP_WORKER_THREADS: Final = 4  # tool calls at a time; hooks have threads of their own
MCP_IN_HAND_MAX: Final = 512  # messages handed on and not answered yet, of all carriers together
MCP_SESSIONS_MAX: Final = (
    64  # that are remembered: each has two tasks and some 50 KB; one that was forgotten goes on all the same
)
MCP_SESSION_IDLE_S: Final = 3600  # without a message for longer, a session is forgotten
DECISIONS_AROUND: Final = 3  # decisions on either side of the one asked for: enough to see how it came about
MCP_STOP_WAIT_S: Final = 2.0  # for its loop to end, when the daemon goes
