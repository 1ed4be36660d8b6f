"""A filter of system calls, for what namespaces and limits leave open: new namespaces, memory that is not
counted.

A program of the kernel's packet filter, eight bytes an instruction, that refuses a few calls with EPERM.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator

INSTRUCTION = struct.Struct("=HBBI")
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000
NUMBER, MACHINE = 0, 4  # offsets in the record of a system call
FOREIGN = 0x40000000  # from here on, calls of another convention on the same processor

# The number the kernel gives a machine, and its numbers of: unshare, setns, shmget, memfd_create, ptrace,
# add_key, keyctl, perf_event_open, userfaultfd, io_uring_setup.
MACHINES = {
    "x86_64": (0xC000003E, [272, 308, 29, 319, 101, 248, 250, 298, 323, 425]),
    "aarch64": (0xC00000B7, [97, 268, 194, 279, 117, 217, 219, 241, 282, 425]),
}


class UnknownMachine(Exception):
    """The numbers of the system calls of this processor are not known here."""


def program(machine: str | None = None) -> bytes:
    """The filter for a machine, this one if none is named.

    Raises:
        UnknownMachine: where the numbers of its system calls are not known.
    """
    name = machine or platform.machine()
    if name not in MACHINES:
        raise UnknownMachine(f"no filter of system calls for {name}, only for {' and '.join(MACHINES)}")
    return b"".join(INSTRUCTION.pack(*step) for step in steps(*MACHINES[name]))


def steps(machine: int, refused: list[int]) -> Iterator[tuple[int, int, int, int]]:
    """(code, steps to skip if true, if false, value) of each instruction."""
    yield (LOAD, 0, 0, MACHINE)
    yield (JUMP_IF_EQUAL, 1, 0, machine)
    yield (RETURN, 0, 0, KILL)
    yield (LOAD, 0, 0, NUMBER)
    yield (JUMP_IF_AT_LEAST, len(refused) + 1, 0, FOREIGN)
    for position, number in enumerate(refused):
        yield (JUMP_IF_EQUAL, len(refused) - position, 0, number)
    yield (RETURN, 0, 0, ALLOW)
    yield (RETURN, 0, 0, REFUSE)
