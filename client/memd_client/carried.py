"""The verb `mcp`: one message of an MCP client, and its answer (wire.py, "Verb `mcp`"). Stdlib only."""

from memd_client import wire


class Carried:
    """One message of an MCP client as it crosses the wire: raw. `environment` holds the frame's lines."""

    __slots__ = ("cwd", "environment", "message", "number", "session")

    def __init__(self, session: bytes, number: int, cwd: bytes, environment: bytes, message: bytes) -> None:
        self.session = session
        self.number = number
        self.cwd = cwd
        self.environment = environment
        self.message = message


def carried_request(carried: Carried) -> list[bytes]:
    """The frames a DEALER sends."""
    number = b"%d" % carried.number
    return wire.request(wire.MCP, carried.session, number, carried.cwd, carried.environment, carried.message)


def carried_reply(version: bytes, number: int, *said: bytes, status: int = wire.DONE) -> list[bytes]:
    """The frames a daemon answers with: the messages to be written, or, with another status, the sentence that says why not."""
    return wire.reply(version, status, b"%d" % number, *said)


def parse_carried(body: list[bytes]) -> Carried:
    """The message in the frames that follow the verb. Raises Malformed."""
    if len(body) < 5:
        raise wire.Malformed("a message of MCP has 5 frames after its verb")
    session, number, cwd, environment, message = body[:5]
    if len(session) != wire.REQUEST_ID_BYTES:
        raise wire.Malformed("a session is 16 bytes")
    if (
        len(cwd) > wire.CWD_MAX_BYTES
        or len(environment) > wire.ENVIRONMENT_MAX_BYTES
        or len(message) > wire.MCP_MESSAGE_MAX_BYTES
    ):
        raise wire.Malformed("a frame is over its bound")
    return Carried(session, wire.decimal(number), cwd, environment, message)


def parse_carried_reply(reply: wire.Reply) -> tuple[int, list[bytes]]:
    """The number of the message that this answers, and what is said to it. Raises Malformed."""
    if not reply.body:
        raise wire.Malformed("an answer to MCP repeats the number")
    return wire.decimal(reply.body[0]), reply.body[1:]
