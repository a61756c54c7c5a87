"""Why a backup, a restore, an export or an import was not done, as errors.py has it of all else: the docstring is the message."""

from memd_daemon.errors import Refused, UsageError


class BackupExists(Refused):
    """There is something at {} already, and a backup is written over nothing: name another file."""


class BackupUnwritable(Refused):
    """The backup could not be written to {} ({}); nothing is left of it. Choose another place."""


class BackupRunning(Refused):
    """A backup is being made already, into {}: wait for it."""


class NoSuchJob(UsageError):
    """There is no backup {} here: it was another daemon's."""


class NoSuchExport(Refused):
    """This export was let go, since nobody had asked for its next part for a while: begin it again."""


class ExportsOpen(Refused):
    """{} exports are under way, which is as many as memd holds open: wait for one of them."""


class NotReadable(Refused):
    """{} cannot be read ({}); nothing was touched."""


class NotABackup(Refused):
    """{} is no backup of memd ({}); nothing was touched. `memd backup` makes one; what `memd export` wrote goes in by `memd import`."""  # noqa: E501


class BackupDamaged(Refused):
    """The backup {} is damaged: {}. Nothing was touched; use another one."""


class BackupNewer(Refused):
    """{} was made by a newer memd ({} {}, this one reads up to {}); nothing was touched. Install the newer memd."""


class BackupFaulty(Refused):
    """What {} holds is not whole: {}. Nothing was touched; use another one, or take it as it is with `--damaged`."""


class ForgottenComesBack(Refused):
    """What is to be restored still holds what was forgotten here since: {}. Nothing was touched; say `--with-forgotten` to have it back, then forget it again."""  # noqa: E501


class PersonNeeded(Refused):
    """{} can bring keys and endorsed notes into memd, so a person does it, and this looks like an agent's shell ({}): run it in a terminal of your own."""  # noqa: E501


class CannotSwap(Refused):
    """The store in {} could not be exchanged ({}); what was there is there. Put `store` itself into the folder, not a link or a mount."""  # noqa: E501


class SwapUnfinished(Refused):
    """The store in {} has changed places, but a step behind that failed ({}): until the disk has it all, a power cut may bring back what was there. {}The next restore or import finishes it; `memd verify` looks through the store."""  # noqa: E501


class CannotHold(Refused):
    """memd could not be stopped for this (pid {}); nothing was touched. `memd stop`, then say it again."""


class NotAnExport(Refused):
    """This is no export of memd ({}); nothing was taken. `memd export` makes one; what `memd backup` wrote goes in by `memd restore`."""  # noqa: E501


class ExportNewer(Refused):
    """This export was made by a newer memd (format {}, this one reads up to {}); nothing was taken. Install the newer memd."""


class ImportWrong(Refused):
    """{} of the export {} wrong, and nothing was taken: {}. Take it from a sound copy, or all the rest with `--skip-wrong`."""
