"""Escaping of names from untrusted files for HTML, Plotly, SVG, LaTeX, CSV and file names."""

from __future__ import annotations

import html
import re
import unicodedata

MAX_NAME = 80

#: Characters of our own labels, and their equivalents for pdfLaTeX.
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # no ligatures: two hyphens of a name stay two hyphens
    "α": r"\ensuremath{\alpha}",
    "θ": r"\ensuremath{\theta}",
    "σ": r"\ensuremath{\sigma}",
    "ρ": r"\ensuremath{\rho}",
    "−": r"\ensuremath{-}",
    "×": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "…": r"\dots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "’": r"\textquoteright{}",
    "·": r"\ensuremath{\cdot}",
    "²": r"\ensuremath{^2}",
    "→": r"\ensuremath{\rightarrow}",
}


def clean(text: object, limit: int = MAX_NAME) -> str:
    """One line without control, invisible or direction-changing characters, at most `limit` characters."""
    normal = " ".join(str(text).split())
    if normal.isascii() and normal.isprintable() and len(normal) <= limit:
        return normal
    normal = unicodedata.normalize("NFC", _few_marks(normal[: 8 * limit]))
    # Cc and Cf: control and direction characters. Cs: lone surrogates. Co and Cn: characters without glyphs.
    plain = "".join(sign for sign in normal if unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def _few_marks(text: str) -> str:
    """At most eight combining marks in a row: longer runs take hours to normalise and overprint neighbouring text."""
    kept, run = [], 0
    for sign in text:
        run = run + 1 if unicodedata.combining(sign) else 0
        if run <= 8:
            kept.append(sign)
    return "".join(kept)


def for_html(text: object, limit: int = 10_000) -> str:
    """Text for an HTML page or attribute."""
    return html.escape(clean(text, limit), quote=True)


def for_plotly(text: object, limit: int = MAX_NAME) -> str:
    """Text for Plotly, which interprets some HTML tags, `%{…}` and `$…$` in its strings."""
    escaped = html.escape(clean(text, limit), quote=False).replace("%{", "%\u200b{")
    # Plotly passes a string to MathJax if it begins and ends with a dollar sign.
    return escaped.replace("$", "&#36;")


def for_latex(text: object, limit: int = MAX_NAME) -> str:
    """Text for pdfLaTeX with T1 fonts: special characters escaped, unsupported letters shown by their code."""
    parts: list[str] = []
    signs = clean(text, limit).replace("r̄", "\ue000")
    for sign in signs:
        if sign == "\ue000":
            parts.append(r"\ensuremath{\bar{r}}")
        elif sign in _LATEX_SIGNS:
            parts.append(_LATEX_SIGNS[sign])
        elif " " <= sign <= "~" or ("\u00c0" <= sign <= "\u017e" and unicodedata.category(sign) in ("Lu", "Ll")):
            parts.append(sign)
        else:
            parts.append(rf"\texttt{{U+{ord(sign):04X}}}")
    # A bracket would end an optional argument early; commas and equals signs are safe inside braces.
    return "".join(parts).replace("[", "{[}").replace("]", "{]}")


def for_csv(text: object) -> str:
    """Text for a cell of a spreadsheet, which must not become a formula."""
    cell = clean(text, 10_000)
    # Full-width forms of these characters also start formulas in some locales, and a semicolon separates cells in some.
    return re.sub(r"(^|;)( *)(?=[=+\-@|%＝＋－＠])", r"\1\2'", cell)


def for_comment(text: object) -> str:
    """Text for one line of a comment (LaTeX): it contains no line break."""
    return clean(text, 400)


def for_file_name(text: object, otherwise: str = "figure") -> str:
    """A short, portable file name without folders; `otherwise` if no character of the text remains."""
    ascii_only = unicodedata.normalize("NFKD", clean(text, 200)).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", ascii_only).strip("-._")[:60].strip("-._")
    return name or otherwise
