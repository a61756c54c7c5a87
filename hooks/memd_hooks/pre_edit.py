"""Hook script: before an edit, after a file was read, and after another tool gave its result.

Run as `python -I -S pre_edit.py EVENT HARNESS`; see carry.py.
"""

import posix
import sys

try:
    # -I leaves out the script's directory. Packages lie side by side when installed, in a folder each in a checkout.
    parent = __file__.rsplit("/", 2)[0]
    sys.path[:0] = [parent, parent.rpartition("/")[0] + "/client"]
    sys.dont_write_bytecode = True  # on a full disk half a file would be left, and silence every hook after this one
    from memd_hooks import carry

    carry.main(("pre-edit", "read", "tool-result"))
finally:
    posix._exit(0)  # also when nothing could be imported: no traceback, no exit code
