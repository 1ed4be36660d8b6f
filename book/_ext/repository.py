"""Sphinx extension: where the book's public repository is, and the addresses that follow from it.

The setting `repository` of _config.yml holds it: the address, the branch, the folder of the book. While the
address is empty there is no repository, and no page has a link that would need one. Pages in Markdown may
say `{{ contact }}` and `{{ nbgitpuller }}`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from sphinx.errors import ConfigError

ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.-]+){2,}(?<!\.git)")
BINDER = "https://mybinder.org/v2"
COLAB = "https://colab.research.google.com/github"
GITHUB, GITLAB = "https://github.com", "https://gitlab.com"
NOBODY = "whoever gave you this copy of it, which names no address of its own"
COPIES = "colab"  # the branch, and the folder of the site, that hold the chapters as Colab opens them


@dataclass(frozen=True)
class Repository:
    """A public Git repository that holds the book.

    Attributes:
        address: Without a slash or `.git` at its end.
        branch: The branch that the site is built from.
        folder: Where in it the book is.
    """

    address: str
    branch: str
    folder: str

    @property
    def host(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def path(self) -> str:
        """Owner and name."""
        return urlsplit(self.address).path.strip("/")

    def binder(self, chapter: str) -> str:
        """A chapter in JupyterLab on mybinder.org, which reads `environment.yml`."""
        branch = quote(self.branch, safe="")
        if self.host == GITHUB:
            place = f"gh/{self.path}/{branch}"
        elif self.host == GITLAB:
            place = f"gl/{quote(self.path, safe='')}/{branch}"
        else:
            place = f"git/{quote(self.address, safe='')}/{branch}"
        return f"{BINDER}/{place}?urlpath={quote(f'lab/tree/{self.folder}/{chapter}.ipynb', safe='')}"

    def colab(self, chapter: str) -> str | None:
        """A chapter's copy in Google Colab, which opens notebooks of GitHub alone."""
        return f"{COLAB}/{self.path}/blob/{COPIES}/{chapter}.ipynb" if self.host == GITHUB else None

    def requirement(self, *extras: str) -> str:
        """The package, as pip is asked for it."""
        return f"aggbandit[{','.join(extras)}] @ git+{self.address}@{self.branch}"

    def pulled(self, chapter: str) -> str:
        """A chapter in the reader's own copy on the JupyterHub `HUB`, by nbgitpuller."""
        opened = f"lab/tree/{self.path.split('/')[-1]}/{self.folder}/{chapter}.ipynb"
        asked = {"repo": self.address, "branch": self.branch, "urlpath": opened}
        return f"https://HUB/hub/user-redirect/git-pull?{urlencode(asked)}"

    @property
    def issues(self) -> str:
        """Where to write to."""
        return f"{self.address}/-/issues" if self.host == GITLAB else f"{self.address}/issues"


def repository(config: Any) -> Repository | None:
    """The repository that the book's settings name, if they name one.

    Raises:
        ConfigError: if its address is not one that links can be made of.
    """
    options = config.html_theme_options
    address = options.get("repository_url") or ""
    if not address:
        return None
    if not ADDRESS.fullmatch(address):
        rule = "it must look like https://github.com/OWNER/NAME, without a slash or .git at its end"
        raise ConfigError(f"repository: url is {address!r}; {rule}")
    return Repository(address, options.get("repository_branch") or "main", options["path_to_docs"].strip("/"))


def fill_in(app: Any, config: Any) -> None:
    """What pages say of the repository, or in its absence."""
    public = repository(config)
    example = public or Repository("https://github.com/OWNER/NAME", "main", "book")
    said = {
        "contact": f"[the book's issues]({public.issues})" if public else NOBODY,
        "nbgitpuller": f"`{example.pulled('01-only-the-total')}`",
    }
    config.myst_substitutions = {**config.myst_substitutions, **said}


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
