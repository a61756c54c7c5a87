"""A daemon of another version, as far as a carrier asks it: pings, messages of MCP, a stop.

One that is told to `die` does so at the first message of MCP; one that is told to `leave` says of the first
two that it took neither, and goes.
"""

import json
import os
import sys
from pathlib import Path

import zmq

from memd_client import address, wire
from memd_client.carried import carried_reply, parse_carried


def main() -> None:
    """Announces itself, says `ready`, and writes the verbs it was asked into `<home>/asked`."""
    home, version = Path(os.environ["MEMD_HOME"]), sys.argv[1].encode()
    (home / "run").mkdir(parents=True)
    socket_path = home / "run" / "memd.sock"
    router = zmq.Context().socket(zmq.ROUTER)
    router.bind(f"ipc://{socket_path}")
    here = address.Address(
        wire.PROTOCOL, os.getpid(), address.process_start(os.getpid()) or 0, os.fsencode(socket_path)
    )
    (home / "run" / "address").write_bytes(address.encode(here))
    print("ready", flush=True)
    untaken: list[tuple[bytes, int]] = []
    while True:
        identity, *frames = router.recv_multipart()
        _, verb, body = wire.parse_request(frames)
        with (home / "asked").open("a") as asked:
            asked.write(f"{verb.decode()}\n")
        if verb == wire.MCP and sys.argv[2:] == ["die"]:
            os._exit(1)
        if verb == wire.MCP and sys.argv[2:] == ["leave"]:
            untaken.append((identity, parse_carried(body).number))
            if len(untaken) == 2:
                (home / "run" / "address").unlink()
                for identity, number in untaken:
                    router.send_multipart([identity, *carried_reply(version, number, b"leaving", status=wire.STOPPING)])
                router.close(1_000)
                return
            continue
        if verb == wire.MCP:
            carried = parse_carried(body)
            asked_id = json.loads(carried.message)["id"] if carried.message else None
            said = json.dumps({"jsonrpc": "2.0", "id": asked_id, "result": {"from": version.decode()}}).encode()
            router.send_multipart([identity, *carried_reply(version, carried.number, said)])
            continue
        router.send_multipart([identity, *wire.reply(version, wire.DONE, wire.EMPTY_BODY)])
        if verb == wire.STOP:
            (home / "run" / "address").unlink()
            router.close(1_000)
            return


if __name__ == "__main__":
    main()
