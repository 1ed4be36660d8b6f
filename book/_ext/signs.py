"""A formula as plain signs: what one would type or read out, not its TeX."""

from __future__ import annotations

import re

WORDS = """
    alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
    lambda λ
    mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ phi φ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ
    Lambda Λ
    Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω ell ℓ nabla ∇ partial ∂ infty ∞ prime ′ star * ast * top T sqrt √
    le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ ll ≪ gg ≫ approx ≈ equiv ≡ sim ∼ succeq ⪰ preceq ⪯ in ∈ notin ∉ subset ⊂
    subseteq ⊆ cup ∪ cap ∩ setminus ∖ cdot · times × pm ± mp ∓ to → mapsto ↦ iff ⇔ implies ⇒ forall ∀ exists ∃
    sum ∑ prod ∏ int ∫ dots … ldots … cdots … vdots … mid | vert | lvert | rvert | Vert ‖ lVert ‖ rVert ‖
    langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ Pr Pr
"""
TABLE = WORDS.split()
FUNCTIONS = ("log", "ln", "exp", "min", "max", "argmin", "det", "sup", "inf", "tan", "sin", "cos")
SIGNS = {
    **dict(zip(TABLE[::2], TABLE[1::2], strict=True)),
    **{name: f"{name} " for name in FUNCTIONS},
    "quad": " ",
    "qquad": " ",
}
SPOKEN = re.compile(r"\\(?:text[a-z]*|mathrm|operatorname\*?|mbox|tag\*?)\s*\{([^{}]*)\}")
ROOT = re.compile(r"\\sqrt\s*\{([^{}]{2,})\}")
FRACTION = re.compile(r"\\[dt]?frac\s*(\{[^{}]*\}|\d|\\?[A-Za-z]+)\s*(\{[^{}]*\}|\d|\\?[A-Za-z]+)")
ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-z]+\*?\}(?:\{[lcr|]*\})?|\\label\s*\{[^{}]*\}")
SPACING = re.compile(r"\\[,;:! ]|\\\\|[~&]")
COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
SCRIPT = re.compile(r"([_^])\{([^{}]*[^{}\w*′][^{}]*)\}")  # long ones keep their brackets: x^(π,P)
BRACES = re.compile(r"[{}]")
RELATION = re.compile(r"\s*([=≤≥<>≈≡∈⪰⪯→])\s*")
SPACE = re.compile(r"\s+")


def readable(tex: str) -> str:
    r"""The signs of a formula in a line.

    Example:
        >>> readable(r"\tilde\ell_t = n\,(L_t - b)\, H_{x_t}(y_t - x_t)")
        'ℓ_t = n (L_t - b) H_x_t(y_t - x_t)'
        >>> readable(r"\|x^{\pi,P}\|\in\{0,1\}")
        '‖x^(π,P)‖ ∈ {0,1}'
        >>> readable(r"\frac{\lambda}{2} \le \sqrt{K}, \quad \mathbb E_t[\text{loss}]")
        'λ/2 ≤ √K, E_t[loss]'
    """
    text = ENVIRONMENT.sub(" ", tex)
    text = SPOKEN.sub(r" \1 ", text)
    for _ in range(4):  # a root in a fraction, a fraction in a root: from the inside
        text = ROOT.sub(r"√(\1)", text)
        text = FRACTION.sub(lambda found: "/".join(part.strip("{}") for part in found.groups()), text)
    text = SPACING.sub(" ", text)
    text = text.replace(r"\{", "⦃").replace(r"\}", "⦄").replace(r"\|", "‖")
    text = COMMAND.sub(lambda found: SIGNS.get(found[1], ""), text)
    text = BRACES.sub("", SCRIPT.sub(r"\1(\2)", text)).replace("⦃", "{").replace("⦄", "}")
    text = RELATION.sub(r" \1 ", text)
    text = SPACE.sub(" ", text).replace("[ ", "[").replace(" ]", "]")
    return text.strip()
