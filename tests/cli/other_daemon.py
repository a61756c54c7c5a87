"""A daemon of another version: serves the home in MEMD_HOME under the version in argv[1] until it is asked to stop."""

import os
import sys
from pathlib import Path

import msgspec
import zmq

from memd_client import address, api, wire


def main() -> None:
    """Announces itself, says `ready`, and writes the verbs it was asked into `<home>/asked`."""
    home, version = Path(os.environ["MEMD_HOME"]), sys.argv[1].encode()
    (home / "run").mkdir(parents=True)
    socket_path = home / "run" / "memd.sock"
    router = zmq.Context().socket(zmq.ROUTER)
    router.bind(f"ipc://{socket_path}")
    start = address.process_start(os.getpid()) or 0
    line = address.encode(address.Address(wire.PROTOCOL, os.getpid(), start, os.fsencode(socket_path)))
    (home / "run" / "address").write_bytes(line)
    print("ready", flush=True)
    while True:
        identity, *frames = router.recv_multipart()
        _, verb, body = wire.parse_request(frames)
        with (home / "asked").open("a") as asked:
            asked.write(f"{verb.decode()} {msgspec.msgpack.decode(body[0])}\n")
        answer = msgspec.msgpack.encode(api.StopReply(pid=os.getpid())) if verb == wire.STOP else wire.EMPTY_BODY
        router.send_multipart([identity, *wire.reply(version, wire.DONE, answer)])
        if verb == wire.STOP:
            (home / "run" / "address").unlink()
            router.close(1_000)
            return


if __name__ == "__main__":
    main()
