"""Line plots as SVG, without a library."""

from __future__ import annotations

from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 960, 420, 60, 40, 260, 40
COLOURS = ("#d62728", "#ff7f0e", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#393b79", "#637939", "#000000")


def lines(title: str, curves: dict[str, list[float]], ceiling: float, step: float = 0.1) -> str:
    """Bits per second over time, one curve for each name."""
    seconds = max(len(curve) for curve in curves.values()) * step
    # What waited behind a hole arrives at once: such moments are cut off.
    most = ceiling * 1.15

    def x(time: float) -> float:
        return LEFT + time / seconds * (WIDTH - LEFT - RIGHT)

    def y(rate: float) -> float:
        return HEIGHT - BOTTOM - min(rate / most, 1.0) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}: Mbit/s over seconds since the start</text>',
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ceiling):.1f}" y2="{y(ceiling):.1f}" stroke="#999" stroke-dasharray="4 4"/>',
    ]
    for tick in range(5):
        rate = ceiling * tick / 4
        parts.append(f'<text x="{LEFT - 6}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate / 1e6:.0f}</text>')
    for tick in range(0, int(seconds) + 1, 2):
        parts.append(f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick}</text>')
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        points = " ".join(f"{x((i + 0.5) * step):.1f},{y(rate):.1f}" for i, rate in enumerate(curve))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.4" points="{points}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 16 + 18 * index}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])
