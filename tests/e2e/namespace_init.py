"""The first process inside a lab's namespaces: brings loopback up, lends the test a listening socket, reaps, and ends with it.

usage: namespace_init.py FD      FD: one end of a socket pair whose other end the test process holds

It sends one byte together with the descriptor of a socket that listens on 127.0.0.1 of the new network namespace, then
waits. When the other end closes (the lab is closed, or the test process died), it exits, and with the first process of
a PID namespace the kernel kills every other: no daemon outlives its lab. Orphans are adopted and reaped, as init does.
"""

import array
import contextlib
import fcntl
import os
import signal
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # linux/sockios.h, linux/if.h


def loopback_up() -> None:
    """Set IFF_UP on `lo`, by ioctl: iproute2 is not on every machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = array.array("b", struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(control, SIOCGIFFLAGS, request, True)
        (flags,) = struct.unpack_from("h", request, 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


def reap(signum: int, frame: object) -> None:
    """Collect every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    test = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, reap)
    loopback_up()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        socket.send_fds(test, [b"+"], [listener.fileno()])
    test.recv(1)


if __name__ == "__main__":
    main()
