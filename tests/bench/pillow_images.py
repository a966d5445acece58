"""The rows of bench_mc_images with a Pillow of your own; no part of the build and no dependency.

    python3 tests/bench/pillow_images.py FOLDER
"""

import io
import pathlib
import sys
import time

import PIL
from PIL import Image, ImageFilter


def pattern(width, height):
    pixels = bytes((i * 37 ^ i >> 9) & 255 for i in range(width * height * 3))
    return Image.frombytes("RGB", (width, height), pixels)


def clip(image, size):
    width, height = image.size
    long = int(size * max(width, height) / min(width, height))
    image = image.resize((size, long) if width <= height else (long, size), Image.BICUBIC)
    left, top = (round((side - size) / 2) for side in image.size)
    return image.crop((left, top, left + size, top + size))


def decode(file):
    image = Image.open(io.BytesIO(file))
    image.load()
    return image.convert("RGB")


def cost(body, seconds=0.4):
    """Mean processor time of one call, as a busy machine stretches the wall's."""
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds or count == 0:
        body()
        count += 1
    return (time.process_time() - start) / count


def main():
    if len(sys.argv) > 1:
        files = [path.read_bytes() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jpg"))]
    else:
        buffer = io.BytesIO()
        pattern(500, 375).save(buffer, "JPEG", quality=90)
        files = [buffer.getvalue()]
    small, large = pattern(500, 375), pattern(1920, 1080)

    def each(body):
        def run():
            for file in files:
                body(file)
        return run

    rows = {
        "decode": (each(decode), len(files)),
        "decode, short side 224, crop": (each(lambda file: clip(decode(file), 224)), len(files)),
        "decode, short side 384, crop": (each(lambda file: clip(decode(file), 384)), len(files)),
        "resize 500x375 to 298x224 bicubic": (lambda: small.resize((298, 224), Image.BICUBIC), 1),
        "resize 500x375 to 224x224 bilinear": (lambda: small.resize((224, 224), Image.BILINEAR), 1),
        "resize 1920x1080 to 384x384 bicubic": (lambda: large.resize((384, 384), Image.BICUBIC), 1),
        "short side 224 and crop of 500x375": (lambda: clip(small, 224), 1),
        "blur 500x375 radius 5": (lambda: small.filter(ImageFilter.GaussianBlur(5)), 1),
        "blur 500x375 radius 15": (lambda: small.filter(ImageFilter.GaussianBlur(15)), 1),
    }
    print("Pillow", PIL.__version__)
    for name, (body, count) in rows.items():
        print(f"{name:40} {cost(body) / count * 1e6:10.0f} us")


main()
