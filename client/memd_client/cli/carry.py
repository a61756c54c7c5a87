"""The MCP server's command. A plain `memd mcp` never comes here (cli/__init__.py): this serves its help, and what has options."""

from memd_client import mcp
from memd_client.cli.shape import command


@command("mcp", short_help="What an MCP client starts: memd's tools, on stdio.")
def carry(as_json: bool) -> int:
    """Serve memd's tools to an MCP client on stdin and stdout, until it ends. `memd install` registers it (docs/mcp.md).

    What it speaks is JSON in any case.
    """
    return mcp.main()
