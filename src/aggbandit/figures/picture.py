"""A still picture with its words: alternative text and a caption."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from aggbandit.figures._render import caption_html, markup, plain_caption


@dataclass(frozen=True)
class Picture:
    """A figure that a notebook cell shows as its last expression: `html`, or `text` on a plain terminal."""

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def picture(drawing: Figure | str, *, caption: str, alt: str) -> Picture:
    """Show a still figure with its caption and its alternative text; the last expression of a cell.

    `drawing` is a matplotlib figure (closed afterwards, so that it is not shown twice) or an SVG string.
    `caption` is one or two sentences with the takeaway; ``$…$`` is mathematics, inline HTML is allowed.
    `alt` says in words what the picture shows, for those who do not see it.
    Raises `ValueError` if caption or alt is empty, `TypeError` if `drawing` is something else.

    >>> fig, ax = figures.axes(height=2.6)
    >>> ax.plot(regret, color=figures.LEARNER)
    >>> figures.picture(fig, caption="Regret grows like $\\sqrt{K}$.", alt="A curve that rises and flattens.")
    """
    body, _ = markup(drawing, alt)
    words = caption_html(caption)
    return Picture(
        html=(
            f'<figure class="ab-figure">{body}'
            f'<figcaption class="ab-caption tex2jax_process mathjax_process">{words}</figcaption></figure>'
        ),
        text=f"Picture: {plain_caption(caption)}",
    )
