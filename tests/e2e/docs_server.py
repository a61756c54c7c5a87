"""An MCP server of documents, on stdio: one tool, `page`, that says what stands in the file it was started with."""

import json
import sys
from pathlib import Path
from typing import Any


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "docs", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {
            "tools": [{"name": "page", "description": "a page", "inputSchema": {"type": "object", "properties": {}}}]
        }
    if method == "tools/call":
        return {"content": [{"type": "text", "text": Path(sys.argv[1]).read_text(encoding="utf-8")}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        said = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params") or {})}
        print(json.dumps(said), flush=True)
