#!/usr/bin/python3
"""draw_shards.py PNG: 1,024 images of which 1,000 are stored, as a file for each chunk and as four shards (docs/for-machine-learning.md)."""
import sys

from PIL import Image, ImageDraw, ImageFont

SIDE, CELL, TOP, LEFT = 32, 10, 40, 20
STORED = 1000
COLOURS = [(0, 121, 107), (66, 133, 180), (190, 120, 40), (140, 90, 160)]
EMPTY, LINE, TEXT = (232, 232, 232), (60, 60, 60), (40, 40, 40)

width = 2 * SIDE * CELL + 5 * LEFT
picture = Image.new("RGB", (width, TOP + SIDE * CELL + 20), (255, 255, 255))
draw = ImageDraw.Draw(picture)
font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 15)


def cells(left, gap):
    for number in range(SIDE * SIDE):
        row, column = divmod(number, SIDE)
        x, y = left + column * CELL, TOP + row * CELL
        colour = COLOURS[number * 4 // (SIDE * SIDE)] if number < STORED else EMPTY
        draw.rectangle([x, y, x + CELL - gap, y + CELL - gap], fill=colour)


draw.text((LEFT, 12), "as plain chunks: 1,000 files", fill=TEXT, font=font)
cells(LEFT, 3)
right = 4 * LEFT + SIDE * CELL
draw.text((right, 12), "as shards: 4 files", fill=TEXT, font=font)
cells(right, 1)
for shard in range(4):
    y = TOP + shard * SIDE * CELL // 4
    draw.rectangle([right - 2, y - 1, right + SIDE * CELL, y + SIDE * CELL // 4 - 2], outline=LINE, width=2)
picture.quantize(16).save(sys.argv[1], optimize=True)
