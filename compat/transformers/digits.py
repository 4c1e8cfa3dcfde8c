"""The digits of the PyPI package scikit-learn (UCI's, of 1998, 8 by 8 pixels) as safetensors.

    pip download --no-deps scikit-learn && python3 digits.py scikit_learn-*.whl digits.safetensors
"""

import gzip
import json
import struct
import sys
import zipfile

MEMBER = "sklearn/datasets/data/digits.csv.gz"


def main():
    wheel, path = sys.argv[1:]
    text = gzip.decompress(zipfile.ZipFile(wheel).read(MEMBER)).decode()
    rows = [[float(cell) for cell in line.split(",")] for line in text.splitlines()]
    pixels = [pixel / 16 for row in rows for pixel in row[:64]]
    labels = [int(row[64]) for row in rows]
    count, middle = len(rows), 4 * len(pixels)
    header = {
        "images": {"dtype": "F32", "shape": [count, 64], "data_offsets": [0, middle]},
        "labels": {"dtype": "U32", "shape": [count], "data_offsets": [middle, middle + 4 * count]},
    }
    header = json.dumps(header).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.write(struct.pack(f"<{len(pixels)}f", *pixels))
        file.write(struct.pack(f"<{count}I", *labels))


if __name__ == "__main__":
    main()
