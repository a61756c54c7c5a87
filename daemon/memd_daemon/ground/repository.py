"""Which repository a directory belongs to, read from its files: no git process on the hook path (hooks.md, section 5).

A `Checkout` is one working tree; the repository is known by its **common directory** (shared by all worktrees), its primary
remote and, only where an older path is gone, its root commits. Names of directories decide nothing.

What lies there is a stranger's: every file is read up to a bound, in time that grows with its length alone, and whatever its bytes
are, a checkout comes out of it. Paths keep bytes that are no UTF-8 (as surrogate escapes), so that they lead to their files; names
that are kept or told (`Checkout.branch`, `relative_path`) are text.
"""

import os
import re
import stat
import unicodedata
from typing import Final, NamedTuple

import msgspec

from memd_daemon import limits
from memd_daemon.ground import spelling

_SCP_LIKE: Final = re.compile(r"^(?:[^@/]+@)?(\[[^\]/]*\]|[^:/]+):(?!//)(.+)$")
_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SECTION_BEGIN: Final = '[remote "'
_SECTION_END: Final = '"]'
_BRANCH_BEGIN: Final = "ref: refs/heads/"

_NAMING: Final = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else None
"""Opens nothing but the name: no device, no FIFO, no file's content. None where the system has no such thing."""

_REMOVED: Final = " (deleted)"
"""What Linux puts behind the path of what was removed meanwhile; a name may end so too."""


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree, or a plain directory outside git (then ``common`` is "")."""

    root: str  # real path
    common: str = ""  # real path of the common git directory
    git_dir: str = ""  # this working tree's own git directory
    remote: str = ""  # normalized; "" without one
    branch: str = ""  # "" when detached or outside git; text, at most LINE_MAX_CHARS


def real_path(given: str) -> str:
    """The real path of what anybody may have named, spelled as the disk spells it.

    What no path can hold (a NUL, half a surrogate pair, more than a system takes) is replaced or cut: the answer is always a path.
    """
    named = given[: limits.PATH_MAX_CHARS].replace("\0", "\ufffd")
    try:
        os.fsencode(named)
    except UnicodeEncodeError:
        named = clean(named)
    return spelling.ON_DISK.of(resolved(os.path.join("/", named)))


def resolved(path: str) -> str:
    """`os.path.realpath`, by the system's own word where it gives one: three calls, however deep the path lies."""
    for _ in range(limits.FILE_READ_TRIES):
        try:
            return _named(path, 0) or os.path.realpath(path)
        except OSError:  # a link on its way was one when it was looked at, and none when it was followed
            continue
    return os.path.normpath(path)


def resolved_folder(path: str) -> str | None:
    """Likewise, of a directory that is there; None where there is none."""
    if _NAMING is not None:
        return _named(path, os.O_DIRECTORY)
    return resolved(path) if os.path.isdir(path) else None


def _named(path: str, flags: int) -> str | None:
    """The real path of what is there, as the system says it; None where it does not, or nothing is there."""
    if _NAMING is None:
        return None
    try:
        opened = os.open(path, _NAMING | flags)
    except (OSError, ValueError):  # none there
        return None
    try:
        return path_of(opened)
    finally:
        os.close(opened)


def path_of(descriptor: int) -> str | None:
    """The real path of what was opened, as the system says it; None where it does not, or nothing is there any more."""
    found = opened_as(descriptor)
    return found if found is not None and found.startswith("/") and not found.endswith(_REMOVED) else None


def opened_as(descriptor: int) -> str | None:
    """The system's own word for it, with `_REMOVED` behind the path that a removed one had; None where it has none."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # no /proc
        return None


def unawaited(path: str, flags: int) -> int:
    """An opener: a FIFO in the place of a file opens at once and is then seen for what it is. `open` closes what it refuses, a
    directory; `os.fdopen` would leave that open for good."""
    return os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK)


def unfollowed(path: str, flags: int) -> int:
    """Likewise, and a link in its place is refused."""
    return unawaited(path, flags | os.O_NOFOLLOW)


# Some containers refuse the whole call, which says no then to whatever is asked.
if os.access in os.supports_follow_symlinks and os.access("/", os.F_OK, follow_symlinks=False):

    def is_there(path: str) -> bool:
        """`os.path.lexists`, by a call that raises nothing: where there is none, that takes longer than the look."""
        return os.access(path, os.F_OK, follow_symlinks=False)

else:
    is_there = os.path.lexists


def clean(name: str) -> str:
    """A name from the disk or from git as text: bytes that are no UTF-8 become replacement characters."""
    return _SURROGATES.sub("\ufffd", name)


def find_checkout(directory: str) -> Checkout:
    """The checkout that ``directory`` lies in, or the directory itself outside git. Never raises for what lies on disk."""
    here = real_path(directory)
    probe = here
    while True:
        git_dir = _git_dir(probe)
        if git_dir:
            return _checkout(probe, git_dir)
        parent = os.path.dirname(probe)
        if parent == probe:
            return Checkout(root=here)
        probe = parent


def marks_below(directory: str, root: str = "") -> tuple[str, ...]:
    """Where a `.git` may stand, from a real directory up to ``root``, a directory above it, and that one left out."""
    marks = []
    while len(directory) > len(root):
        marks.append(os.path.join(directory, ".git"))
        directory = os.path.dirname(directory) if directory != "/" else ""
    return tuple(marks)


def may_lie_in_git(directory: str) -> bool:
    """Whether anything named `.git` stands in a real directory or above it: without it there is no checkout to look for."""
    return any(map(os.path.lexists, marks_below(directory)))


def is_within(checkout: Checkout, real: str) -> bool:
    """Whether a directory lies in this very checkout, seen without a look at what another would be made of."""
    here = real
    while len(here) > len(checkout.root) and not os.path.lexists(os.path.join(here, ".git")):
        here = os.path.dirname(here)
    return here == checkout.root


def _read(path: str) -> str:
    """A small regular file's text; "" where there is none (a FIFO must not hang the daemon)."""
    try:
        with open(path, "rb", opener=unawaited) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(limits.GIT_FILE_MAX_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


def head_of(checkout: Checkout) -> str:
    """The commit that is checked out, in hex; "" outside git and before the first. Git is asked only where its files do not say."""
    if not checkout.common:
        return ""
    head = _read(os.path.join(checkout.git_dir, "HEAD")).strip()
    name = head.removeprefix("ref: ")
    if name == head:
        return _sha(head)
    found = next(filter(None, (_sha(_read(os.path.join(d, name))) for d in (checkout.git_dir, checkout.common))), "")
    packed = os.path.join(checkout.common, "packed-refs")
    lines = () if found else (line.partition(" ") for line in _read(packed).splitlines())
    found = found or next((_sha(sha) for sha, _, ref in lines if ref == name), "")
    if found or not _says_little(packed):
        return found
    return _sha(git(checkout.root, "rev-parse", "-q", "--verify", "HEAD") or "")


def _sha(said: str) -> str:
    return said.strip() if _SHA.fullmatch(said.strip()) else ""


def _says_little(packed: str) -> bool:
    """Whether git keeps refs in another form, or in more than is read here."""
    has_tables = os.path.exists(os.path.join(os.path.dirname(packed), "reftable"))
    return has_tables or (os.path.exists(packed) and os.path.getsize(packed) > limits.GIT_FILE_MAX_BYTES)


def _git_dir(directory: str) -> str:
    dot_git = os.path.join(directory, ".git")
    if os.path.isdir(dot_git):
        return dot_git if os.path.exists(os.path.join(dot_git, "HEAD")) else ""
    line = _read(dot_git)
    if line.startswith("gitdir:"):
        target = os.path.join(directory, line[len("gitdir:") :].strip())
        return target if os.path.isdir(target) else ""
    return ""


def _checkout(root: str, git_dir: str) -> Checkout:
    common = _common_of(git_dir)
    head = _read(os.path.join(git_dir, "HEAD")).strip()
    branch = clean(head.removeprefix(_BRANCH_BEGIN)) if head.startswith(_BRANCH_BEGIN) else ""
    return Checkout(
        root=real_path(root),
        common=common,
        git_dir=git_dir,
        remote=primary_remote(_read(os.path.join(common, "config")), os.path.dirname(common)),
        branch=branch[: limits.LINE_MAX_CHARS],
    )


def _common_of(git_dir: str) -> str:
    shared = _read(os.path.join(git_dir, "commondir")).strip()
    return real_path(os.path.join(git_dir, shared) if shared else git_dir)


def primary_remote(config: str, base: str) -> str:
    """The normalized URL of `origin`, else of the only remote, else "": a fork's `upstream` must not name its upstream."""
    urls: dict[str, str] = {}
    name = ""
    for line in config.split("\n"):
        if len(line) > limits.GIT_LINE_MAX_CHARS:
            continue  # nobody's remote
        said = line.strip()
        if said.startswith("["):
            name = _remote_named(said)
        elif name:
            key, _, url = said.partition("=")
            if key.rstrip().lower() == "url" and url.strip():
                urls.setdefault(name, url.strip())
    chosen = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else "")
    return normalize_remote(chosen, base) if chosen else ""


def _remote_named(section: str) -> str:
    """The remote's name in a section's head; "" for the head of another section."""
    if not (section.startswith(_SECTION_BEGIN) and section.endswith(_SECTION_END)):
        return ""
    return section[len(_SECTION_BEGIN) : -len(_SECTION_END)]


def normalize_remote(url: str, base: str = "/") -> str:
    """``host/path`` for network URLs, without credentials, query and fragment; the real path's common directory for local ones."""
    scheme, found, rest = url.partition("://")
    if found and scheme != "file":
        host, _, path = rest.rpartition("@")[2].partition("/") if "@" in rest.split("/")[0] else rest.partition("/")
        return f"{_without_port(host.lower())}/{_bare(path)}"
    scp = None if found or url.startswith(("/", ".", "~")) else _SCP_LIKE.match(url)
    if scp:
        return f"{scp.group(1).lower()}/{_bare(scp.group(2))}"
    local = rest if found else url
    local = real_path(os.path.join(base, os.path.expanduser(local) if local.startswith("~/") else local))
    nested = _git_dir(local)
    return _common_of(nested) if nested else local


def _without_port(host: str) -> str:
    """A number in brackets has colons of its own."""
    number, bracket, _ = host.partition("]")
    return number + bracket if host.startswith("[") and bracket else host.partition(":")[0]


def _bare(path: str) -> str:
    return path.partition("?")[0].partition("#")[0].strip("/").removesuffix(".git")


class Led(NamedTuple):
    """Where a name leads: a real path, and the link itself where it names a symbolic link ("" where it names none)."""

    real: str
    link: str = ""


def led(cwd: str, given: str) -> Led:
    """Where ``given`` (absolute, or relative to ``cwd``) leads. The last part may be missing: a file about to be written.

    Resolved up to the last part, which is looked at by itself: a walk from the root costs as much as the rest of an answer.
    """
    path = os.path.join("/", cwd, given).rstrip("/")
    folder, name = os.path.split(path)
    if name in ("", ".", "..") or len(path) > limits.PATH_MAX_CHARS or not is_a_path(path):
        return Led(real_path(os.path.join(cwd, given)))
    here = real_path(folder)
    link = os.path.join(here, name)
    return Led(real_path(link), link) if os.path.islink(link) else Led(spelling.ON_DISK.within(here, name))


def is_a_path(path: str) -> bool:
    """Whether a system can hold it as it is."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def from_root(checkout_root: str, path: str) -> str | None:
    """A real path as it lies below the checkout's root, ``/``-separated, NFC text; None outside it."""
    root = checkout_root.rstrip("/")
    if not path.startswith(root + "/"):
        return None
    return unicodedata.normalize("NFC", clean(path[len(root) + 1 :]))


def relative_path(checkout_root: str, cwd: str, given: str) -> str | None:
    """Where ``given`` leads, from the checkout's root; None outside it. Symbolic links resolve: two ways to a file are one."""
    return from_root(checkout_root, led(cwd, given).real) if given and "\0" not in given else None


def paths_of(checkout_root: str, where: Led) -> list[str]:
    """The paths from the checkout's root of what a name leads to: the file, and the symbolic link that names it.

    A file that a note is anchored to may have become a link to another one since.
    """
    found = (from_root(checkout_root, path) for path in where if path)
    return [path for path in found if path is not None]


def git(checkout_root: str, *words: str, deadline_s: float = limits.GIT_DEADLINE_S) -> str | None:
    """What a short git command prints, or None where it fails or takes too long. Off the hook path only.

    A repository's own settings are a stranger's: nothing that they name is run, and nothing is fetched.
    """
    import subprocess  # off the hook path as git is, and no start waits for it

    command, environ = harmless(checkout_root, *words)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline_s,
            check=True,
            env=environ,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "surrogateescape")


def harmless(checkout_root: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """(command, whole environment) of a git that runs nothing that the repository's settings name, for who starts it otherwise."""
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/")}
    return ["git", "--no-pager", *_HARMLESS, "-C", checkout_root, *words], _QUIET_GIT | environ


_HARMLESS: Final = tuple(
    word
    for setting in (
        "core.fsmonitor=false",
        "log.follow=false",  # a history is asked about one path at a time, and its renames are looked for here
        "core.hooksPath=/dev/null",
        "core.attributesFile=/dev/null",
        "diff.external=",
        "diff.orderFile=/dev/null",
        "log.showSignature=false",  # it would start the program that the repository names for checking signatures
        "gpg.program=false",
        "protocol.allow=never",  # a partial clone fetches what it lacks, through whatever transport its remote names
        "core.sshCommand=false",
        "i18n.logOutputEncoding=UTF-8",
        "color.ui=false",
    )
    for word in ("-c", setting)
)
"""What a command line has to say, since it goes before every file."""

_QUIET_GIT: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
    "MEMD_OFF": "1",
}


def root_commits(checkout_root: str, deadline_s: float = limits.GIT_DEADLINE_S) -> tuple[str, ...]:
    """The commits without parents that HEAD descends from, sorted."""
    told = git(checkout_root, "rev-list", "--max-parents=0", "HEAD", deadline_s=deadline_s)
    return tuple(sorted(told.split())) if told else ()


def in_progress(git_dir: str) -> bool:
    """Whether a rebase, cherry-pick, am, revert or merge is going on, whose commits are not news."""
    marks = ("rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "MERGE_HEAD", "REVERT_HEAD", "sequencer")
    return any(os.path.exists(os.path.join(git_dir, mark)) for mark in marks)
