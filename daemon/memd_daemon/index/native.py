"""The one place that decides in which order the native libraries enter the process.

usearch carries a libstdc++ of its own, some of whose symbols are unique to the process whoever loads them first. If
usearch comes in before the libstdc++ that onnxruntime needs, onnxruntime's initialization crashes the process
(docs/adr/0002). onnxruntime first is safe. So nothing else imports either; both come in on demand, since together they
cost about 120 ms and 35 MB, and the daemon answers before.

The names are imported as strings: no type of either library crosses this module.
"""

from importlib import import_module
from types import ModuleType


def onnxruntime() -> ModuleType:
    """The module ``onnxruntime``."""
    return import_module("onnxruntime")


def usearch() -> ModuleType:
    """The module ``usearch.index``; onnxruntime is in before it."""
    onnxruntime()
    return import_module("usearch.index")
