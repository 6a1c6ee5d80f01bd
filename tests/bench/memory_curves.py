"""Curves of memory as an SVG picture: no library is needed."""

WIDTH, HEIGHT, LEFT, TOP, PANEL = 720, 190, 70, 34, 120
MIB = 1 << 20


def short(number):
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f}"


def panel(name, curve, bound, top):
    points = curve["points"]
    most = max(max(memory for _, memory in points), bound) * 1.1
    last = max(max(done for done, _ in points), 1)

    def at(done, memory):
        return f"{LEFT + done / last * (WIDTH - LEFT - 20):.1f},{top + TOP + PANEL * (1 - memory / most):.1f}"
    line = " ".join(at(*point) for point in points)
    limit, zero = at(0, bound).split(",")[1], top + TOP + PANEL
    return [
        f'<text x="{LEFT}" y="{top + 22}" font-weight="bold">{name}: {short(last)} {curve["axis"]}</text>',
        f'<path d="M{LEFT},{top + TOP} V{zero} H{WIDTH - 20}" fill="none" stroke="#888"/>',
        f'<path d="M{LEFT},{limit} H{WIDTH - 20}" stroke="#c33" stroke-dasharray="5 4"/>',
        f'<text x="{LEFT - 6}" y="{float(limit) + 4:.1f}" text-anchor="end" fill="#c33">{bound // MIB} MiB</text>',
        f'<text x="{LEFT - 6}" y="{zero}" text-anchor="end">0</text>',
        f'<polyline points="{line}" fill="none" stroke="#246" stroke-width="2"/>']


def draw(path, curves, bound):
    """A panel for each curve {"axis": TEXT, "points": [(done, bytes)]}, with the bound as a line."""
    height = HEIGHT * len(curves)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'font-family="sans-serif" font-size="13">', f'<rect width="{WIDTH}" height="{height}" fill="white"/>']
    for number, (name, curve) in enumerate(curves.items()):
        parts += panel(name, curve, bound, number * HEIGHT)
    with open(path, "w") as picture:
        picture.write("\n".join([*parts, "</svg>"]) + "\n")
