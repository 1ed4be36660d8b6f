"""Start-up file of the kernels that `make lab` starts: the package's remarks are seen, and not saved.

A remark begins with the package's name; by that `settle.py` knows it and leaves it out of the file.
"""


def _speak() -> None:
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("aggbandit: %(message)s"))
    log = logging.getLogger("aggbandit")
    log.addHandler(handler)
    log.propagate = False


_speak()
del _speak
