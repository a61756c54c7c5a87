"""What is wrong with an anchor that somebody wrote, as errors.py has it of everything else: the docstring is the message."""

from memd_daemon.errors import AnchorNotAFile, Refused


class AnchorInSeveralPlaces(Refused):
    """There is no {} in the current directory, and several elsewhere: anchor the one that is meant, by its path: {}."""


class AnchorIsAFolder(AnchorNotAFile):
    """{} is a folder, of which nothing could be compared: anchor the file in it that the note is about, or record the note with {say:`--under PATH`|`under`} where it holds in that folder alone."""  # noqa: E501


class AnchorPartless(Refused):
    """No part of {} can be anchored, since it is no text, or too large: anchor the whole file."""


class AnchorHoldsSecret(Refused):
    """The anchor holds what looks like a credential, so it is not stored: anchor the symbol or the lines without its value."""


class AnchorNotLines(Refused):
    """The anchor {} names no lines: they count from 1, the first one first, as in {}#L10-L42."""


class AnchorPastEnd(Refused):
    """The anchor {} goes beyond the end of its file, which has {} lines: name lines that are there."""


class AnchorBlank(Refused):
    """The lines of the anchor {} hold nothing by which they could be found again: anchor the lines that the note is about."""


class NoSuchSymbol(Refused):
    """There is no {} in {}{}: name a definition as its file does, or a stretch of lines ({}#L10-L42)."""


class AmbiguousSymbol(Refused):
    """There are several of the name {} in {}: anchor the one that is meant: {}."""


class SymbolOnLines(Refused):
    """memd reads no symbols in {}, and {} stands on several lines: anchor those that are meant: {}."""


class ClaimNotSo(Refused):
    """The claim {} does not hold, so nothing could be told of its change{}: claim what holds now, or anchor the note without it."""


class ProxyIsAFile(Refused):
    """The proxy {} names a part of a file; a proxy stands for a process, so it is a whole file: name the file, or make it an anchor."""  # noqa: E501
