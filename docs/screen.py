"""Draw a captured terminal screen as SVG: screen.py < capture > picture.svg.

The capture is text with SGR escape sequences, as ``tmux capture-pane -e -p``
prints it.
"""

import re
import sys
from html import escape

CELL, LINE, SIZE, PAD = 8.4, 18, 14, 12  # pixels
BACK, FORE = "#14161b", "#d5d9e0"
BASIC = ["#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d9e0"]
BRIGHT = ["#7f848e", "#ff7b86", "#b5e890", "#ffd68a", "#7cc4ff", "#dd8cf5", "#6fd6e3", "#ffffff"]


def indexed(n: int) -> str:
    """Return one of the 256 colours."""
    if n < 16:
        return (BASIC + BRIGHT)[n]
    if n >= 232:
        return "#" + f"{8 + 10 * (n - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    n -= 16
    return "#" + "".join(f"{levels[i]:02x}" for i in (n // 36, n // 6 % 6, n % 6))


def apply(style: dict, codes: list[int]) -> dict:
    """Return the style after an SGR sequence."""
    style, codes = dict(style), list(codes or [0])
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = {}
        elif code in (1, 2, 3, 4, 7):
            style[code] = True
        elif code in (22, 23, 24, 27):
            for off in {22: (1, 2), 23: (3,), 24: (4,), 27: (7,)}[code]:
                style.pop(off, None)
        elif code in (38, 48) and codes:
            kind = codes.pop(0)
            if kind == 5:
                colour = indexed(codes.pop(0))
            else:
                colour = "#" + "".join(f"{codes.pop(0):02x}" for _ in range(3))
            style["fill" if code == 38 else "back"] = colour
        elif code in (39, 49):
            style.pop("fill" if code == 39 else "back", None)
        else:
            for first, palette, name in (
                (30, BASIC, "fill"), (90, BRIGHT, "fill"), (40, BASIC, "back"), (100, BRIGHT, "back"),
            ):
                if first <= code < first + 8:
                    style[name] = palette[code - first]
    return style


def runs(line: str, style: dict):
    """Yield (text, style) of a line, and last the style that goes on."""
    for i, part in enumerate(re.split(r"\x1b\[([\d;:]*)m", line)):
        if i % 2:
            style = apply(style, [int(c or 0) for c in re.split("[;:]", part)])
        elif part:
            yield part, style
    yield "", style


def draw(lines: list[str]) -> str:
    """Return the picture."""
    out, width, style = [], 0, {}
    for row, line in enumerate(lines):
        column, y = 0, PAD + row * LINE
        for text, worn in runs(line, style):
            style = worn  # the next line begins as this one ends
            if not text:
                continue
            fill, back = style.get("fill", FORE), style.get("back")
            if 7 in style:
                fill, back = back or BACK, fill
            x, long = PAD + column * CELL, len(text) * CELL
            if back:
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{long:.1f}" height="{LINE}" fill="{back}"/>')
            looks = ' font-weight="bold"' * (1 in style) + ' opacity="0.6"' * (2 in style)
            for word in re.finditer(r"\S+", text):  # SVG collapses spaces; and words keep to their cells
                out.append(
                    f'<text x="{x + word.start() * CELL:.1f}" y="{y + 13.5}" fill="{fill}"{looks} '
                    f'textLength="{len(word[0]) * CELL:.1f}" lengthAdjust="spacingAndGlyphs">{escape(word[0])}</text>'
                )
            column += len(text)
        width = max(width, column)
    w, h = 2 * PAD + width * CELL, 2 * PAD + len(lines) * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:.0f} {h}" font-size="{SIZE}" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">\n'
        f'<rect width="{w:.0f}" height="{h}" rx="8" fill="{BACK}"/>\n' + "\n".join(out) + "\n</svg>"
    )


if __name__ == "__main__":
    print(draw(sys.stdin.read().rstrip("\n").split("\n")))
