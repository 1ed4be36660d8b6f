"""The settings of the kernel that executes the chapters: nobody's own profile, and no history kept."""

c = get_config()  # noqa: F821  (IPython provides it)
c.HistoryManager.enabled = False
c.IPKernelApp.log_level = "ERROR"  # a remark on its own sockets, for every chapter, tells an author nothing
