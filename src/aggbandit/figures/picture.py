"""A still picture with its words: alternative text and a caption."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from aggbandit.figures._render import caption_html, plain_caption, render


@dataclass(frozen=True)
class Picture:
    """A figure that a notebook cell shows as its last expression.

    Attributes:
        html: What a page or a notebook shows.
        text: What a plain terminal shows.
    """

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def picture(drawing: Figure | str, *, caption: str, alt: str) -> Picture:
    """Show a still figure with its caption and its alternative text; the last expression of a cell.

    Args:
        drawing: A matplotlib figure (closed afterward, so that it is not shown twice) or an SVG string.
        caption: One or two sentences with the takeaway; `$…$` is mathematics, inline HTML is allowed.
        alt: What the picture shows, in words, for those who do not see it.

    Returns:
        The picture, which shows itself as the last expression of a cell.

    Raises:
        ValueError: if `caption` or `alt` is empty.
        TypeError: if `drawing` is something else.

    Example:
        >>> from aggbandit import figures
        >>> fig, ax = figures.axes(height=1)
        >>> _ = ax.plot([0, 1, 1.4, 1.7], color=figures.LEARNER)
        >>> figures.picture(fig, caption="Regret grows slower than $K$.", alt="A curve that flattens.")
        Picture: Regret grows slower than $K$.
    """
    words = caption_html(caption)
    body = render(drawing, alt).html
    return Picture(
        html=(
            f'<figure class="ab-figure">{body}'
            f'<figcaption class="ab-caption tex2jax_process mathjax_process">{words}</figcaption></figure>'
        ),
        text=f"Picture: {plain_caption(caption)}",
    )
