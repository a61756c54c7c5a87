"""What stands in the carrier's place where memd is switched off (MEMD_OFF): a server of the Model Context Protocol without a tool.

A client tells the model of a server that is not there, and that the user should be told; of one that has nothing to offer it says
nothing. So this one begins as any other, and every further request is of a method that it does not know. Stdlib only.
"""

import json
import sys
from typing import Any

from memd_client import __version__

METHOD_NOT_FOUND = -32601  # JSON-RPC's own
NEWEST_PROTOCOL = "2025-11-25"  # for a client that names none


def answer(line: str) -> dict[str, Any] | None:
    """The answer to one line of a client's; None where none is due. Total."""
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict) or "method" not in asked or "id" not in asked:
        return None
    known = {"initialize": _begun(asked.get("params")), "ping": {}, "tools/list": {"tools": []}}
    result = known.get(str(asked["method"]))
    if result is None:
        told: dict[str, Any] = {"error": {"code": METHOD_NOT_FOUND, "message": "memd is off"}}
    else:
        told = {"result": result}
    return {"jsonrpc": "2.0", "id": asked["id"], **told}


def _begun(params: Any) -> dict[str, Any]:
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": version if isinstance(version, str) else NEWEST_PROTOCOL,
        "capabilities": {},
        "serverInfo": {"name": "memd", "version": __version__},
    }


def main() -> int:
    """Answers until the client is done; the exit code."""
    for line in sys.stdin.buffer:
        told = answer(line.decode("utf-8", "replace"))
        if told is not None:
            sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
            sys.stdout.buffer.flush()
    return 0
