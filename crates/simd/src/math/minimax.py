#!/usr/bin/env python3
"""Derives the polynomial coefficients of tallow_simd::math (needs mpmath and numpy).

Each polynomial P minimises max |weight(x) (target(x) - P(x))| over its interval, by weighted least
squares whose weights are multiplied by the error of each round (Lawson's algorithm). Coefficients
are rounded to f32 one after the other, lowest power first, and the rest is fitted again after each,
so that rounding costs little. Prints Rust constants, lowest power first, and the largest error in
units of 2^-24 (half an ulp of a result of 1).
"""

import numpy as np
from mpmath import mp, mpf, exp, log, tanh, erf, erfc, sin, cos, sqrt, pi

mp.prec = 160


def to_f32(value):
    return float(np.float32(value))


def fit(name, target, weight, degree, low, high):
    """P of the given degree with f32 coefficients."""
    count = 1500
    low, high = mpf(low), mpf(high)
    nodes = [
        (low + high) / 2 - (high - low) / 2 * cos(pi * (2 * k + 1) / (2 * count))
        for k in range(count)
    ]
    targets = np.array([float(target(x)) for x in nodes])
    weights = np.array([abs(float(weight(x))) for x in nodes])
    scale = float(max(abs(low), abs(high)))
    scaled = np.array([float(x) for x in nodes]) / scale
    fixed = []
    for first in range(degree + 1):
        known = sum(c * (scaled * scale) ** p for p, c in enumerate(fixed))
        fixed.append(to_f32(lawson(scaled, targets - known, weights, range(first, degree + 1))
                            / scale**first))
    worst = max(
        abs(weight(x) * (target(x) - sum(mpf(c) * x**p for p, c in enumerate(fixed))))
        for x in nodes
    )
    print(f"// {name} on [{float(low):.4f}, {float(high):.4f}]: {float(worst * 2**24):.4f} x 2^-24")
    print(f"[{', '.join(np.format_float_scientific(np.float32(c), unique=True) for c in fixed)}]")


def lawson(x, target, weight, powers):
    """The lowest coefficient of the minimax fit over `powers`."""
    basis = np.stack([x**p for p in powers], axis=1)
    density = np.ones_like(x) / len(x)
    best, best_worst = None, np.inf
    for _ in range(150):
        row = weight * np.sqrt(density)
        solution = np.linalg.lstsq(basis * row[:, None], target * row, rcond=None)[0]
        error = np.abs(weight * (target - basis @ solution))
        if error.max() < best_worst:
            best, best_worst = solution[0], error.max()
        density = density * error + 1e-300
        density /= density.sum()
    return best


tiny = mpf(2) ** -20  # keeps the quotients below away from 0/0

half_ln2 = log(mpf(2)) / 2
fit("exp: (e^r - 1 - r) / r^2", lambda r: (exp(r) - 1 - r) / r**2 if r else mpf(1) / 2,
    lambda r: r**2 / exp(r) + tiny**2, 4, -half_ln2 * mpf("1.001"), half_ln2 * mpf("1.001"))

fit("log: (log(1+f) - f) / f^2", lambda f: (log(1 + f) - f) / f**2 if f else -mpf(1) / 2,
    lambda f: f**2 / log(1 + f) if f else tiny, 8, -mpf(1) / 3, mpf(1) / 3)

root = lambda z: sqrt(z) if z > tiny**2 else tiny
fit("tanh: (tanh x - x) / x^3 in z = x^2", lambda z: (tanh(root(z)) - root(z)) / root(z) ** 3,
    lambda z: root(z) ** 3 / tanh(root(z)), 4, 0, mpf("0.625") ** 2)

fit("erf small: erf(x) / x - 1 in z = x^2", lambda z: erf(root(z)) / root(z) - 1,
    lambda z: root(z) / erf(root(z)), 6, 0, mpf("0.921875") ** 2)
fit("erf large: -log erfc(t)", lambda t: -log(erfc(t)),
    lambda t: erfc(t) / erf(t), 6, mpf("0.921875"), mpf("4"))

quarter = (pi / 4 * mpf("1.0001")) ** 2
fit("sin: (sin r - r) / r^3 in z = r^2", lambda z: (sin(root(z)) - root(z)) / root(z) ** 3,
    lambda z: root(z) ** 3 / sin(root(z)), 3, 0, quarter)
fit("cos: (cos r - 1 + z/2) / z^2 in z = r^2",
    lambda z: (cos(root(z)) - 1 + root(z) ** 2 / 2) / root(z) ** 4,
    lambda z: root(z) ** 4 / cos(root(z)), 2, 0, quarter)

mp.prec = 400
bits = int((2 / pi) * mpf(2) ** 224)
words = [(bits >> (192 - 32 * k)) & 0xFFFFFFFF for k in range(7)]
print("// 2/pi in words of 32 bits:", ", ".join(f"{word:#010x}" for word in words))
