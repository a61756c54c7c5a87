"""What a process needs to reach the memd daemon, and the surfaces that people and agents use.

`Memd` is the typed client (memd.py). It is imported at its first use, since every hook imports this package and may load nothing.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # typing's own costs a hook 10 ms
if TYPE_CHECKING:
    from memd_client.memd import Memd as Memd


def __getattr__(name: str) -> object:
    if name == "Memd":
        from memd_client.memd import Memd

        return Memd
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
