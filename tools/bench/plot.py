"""Charts with logarithmic axes as SVG: lines with marks, and dashed lines for laws they are compared with."""
import dataclasses
import html
import math

COLOURS = ["#c0392b", "#1f5fa8", "#2e7d32", "#7b4397"]  # dark enough on white, and apart for eyes that confuse red and green
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 300, 70, 60, 90


@dataclasses.dataclass
class Series:
    name: str
    points: list  # of (x, y), both above 0
    law: bool = False  # dashed and grey, without marks


def marks(least, most):
    """1, 2 and 5 times powers of ten between two numbers, and just those powers if they span many."""
    factors = (1, 2, 5) if most / least < 500 else (1,)
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    return [value for power in powers for factor in factors if least <= (value := factor * 10.0**power) * (1 + 1e-9) and value <= most * (1 + 1e-9)]


def chart(left, title, unit, across, series):
    points = [point for one in series for point in one.points]
    if not points:
        return []
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points) / 1.5, max(y for _, y in points) * 1.5
    if low_x == high_x:
        low_x, high_x = low_x / 2, high_x * 2

    def place(x, y):
        return (left + WIDTH * math.log(x / low_x) / math.log(high_x / low_x),
                TOP + HEIGHT * (1 - math.log(y / low_y) / math.log(high_y / low_y)))

    parts = [f'<text x="{left}" y="{TOP - 14}" font-size="14" font-weight="bold">{html.escape(title)}, {html.escape(unit)}</text>']
    for y in marks(low_y, high_y):
        at = place(low_x, y)[1]
        parts.append(f'<line x1="{left}" y1="{at:.1f}" x2="{left + WIDTH}" y2="{at:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in marks(low_x, high_x):
        at = place(x, low_y)[0]
        parts.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{TOP + HEIGHT}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{at:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#666"/>')
    parts.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">{html.escape(across)}</text>')
    for one, colour in coloured(series):
        places = [place(x, y) for x, y in one.points]
        dashes = ' stroke-dasharray="6 4"' if one.law else ""
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [] if one.law else [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
    return parts


def coloured(series):
    colours = iter(COLOURS * len(series))
    return [(one, "#555" if one.law else next(colours)) for one in series]


def svg(charts, across):
    """Charts side by side, each (title, unit, list of Series), under one legend; what is named first has the same colour in all of them."""
    width = LEFT + len(charts) * (WIDTH + GAP) - GAP + 30
    height = TOP + HEIGHT + 90
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="12" fill="#222">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for number, (title, unit, series) in enumerate(charts):
        parts += chart(LEFT + number * (WIDTH + GAP), title, unit, across, series)
    at = LEFT
    for one, colour in coloured(max((series for _, _, series in charts), key=len)):
        dashes = ' stroke-dasharray="6 4"' if one.law else ""
        parts.append(f'<line x1="{at}" y1="{height - 22}" x2="{at + 28}" y2="{height - 22}" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts += [] if one.law else [f'<circle cx="{at + 14}" cy="{height - 22}" r="3.5" fill="{colour}"/>']
        parts.append(f'<text x="{at + 36}" y="{height - 18}">{html.escape(one.name)}</text>')
        at += 60 + 7 * len(one.name)
    return "\n".join(parts + ["</svg>", ""])
