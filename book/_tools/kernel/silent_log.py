"""Start-up file of the kernel that executes the chapters: the package's remarks stay out of the outputs.

Whether it says that something is being compiled, or takes long, depends on the machine and on what ran
before.
"""

import logging

logging.getLogger("aggbandit").setLevel(logging.CRITICAL + 1)
del logging
