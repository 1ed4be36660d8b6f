"""Stands in for the module of this name, which Python in a page lacks.

There are no other processes in a page. But a package that could start some, as Gymnasium can, has to be
importable for what it does besides; only its attempt to start one is an error.
"""


class SemLock:
    """A semaphore between processes, which cannot be had."""

    SEM_VALUE_MAX = 0

    def __init__(self, *_):
        raise OSError("Python in a page cannot start other processes")


def sem_unlink(name):
    raise OSError(f"Python in a page has no semaphore {name}")
