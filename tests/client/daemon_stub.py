"""The least that a hook or command takes for a daemon, as a process of its own.

Notes each start in `<home>/starts`, ends where another one has the home's lock, binds, announces itself, frees the start lock,
writes its pid into the FIFO
`<home>/ready` if there is one, and answers until it is killed.
"""

import fcntl
import os
from pathlib import Path

import zmq

from memd_client import address, wire


def main() -> None:
    """Serve the home in MEMD_HOME for ever."""
    home = Path(os.environ["MEMD_HOME"])
    with (home / "starts").open("a", encoding="ascii") as starts:
        starts.write(f"{os.getpid()}\n")
    (home / "run").mkdir(exist_ok=True)
    lock = os.open(home / "run" / "daemon.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    socket_path = home / "run" / "memd.sock"
    router = zmq.Context().socket(zmq.ROUTER)
    router.bind(f"ipc://{socket_path}")
    announced = address.Address(
        wire.PROTOCOL, os.getpid(), address.process_start(os.getpid()) or 0, os.fsencode(socket_path)
    )
    draft = home / "run" / "address.draft"
    draft.write_bytes(address.encode(announced))
    draft.rename(home / "run" / "address")
    (home / "run" / "starting").unlink(missing_ok=True)
    if (home / "ready").exists():
        (home / "ready").write_text(str(os.getpid()), encoding="ascii")
    while True:
        identity, *frames = router.recv_multipart()
        _, verb, _ = wire.parse_request(frames)
        if verb == wire.HOOK:
            router.send_multipart([identity, *wire.hook_reply(b"0.1.0", b"from a fresh daemon")])
        elif verb == wire.PING:
            router.send_multipart([identity, *wire.reply(b"0.1.0", wire.DONE, wire.EMPTY_BODY)])


if __name__ == "__main__":
    main()
