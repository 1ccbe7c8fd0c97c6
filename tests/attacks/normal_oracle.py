"""An oracle for noisy moments of normal rows that were not clipped; it shares nothing with the library's.

Rows are (1, x), (x, y) or (1, x, y), scaled to the unit ball; S = Σzzᵀ = M·diag(e^δ)·Mᵀ, M unit lower
triangular, and e^{δ₀} = n where the first column is 1. Parameters are integrated out: p(S) is a
matrix-variate law in closed form. A swarm goes from a broad normal law of (M, δ, n) to the posterior
in stages, moved by differences of its own members [ter Braak 2006]; parameters given S are conjugate.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

SIZE, MOVES, LAST = 2000, 5, 120
NEVER = -1e250


def symmetric(flat, p):
    """Row by row, upper triangle."""
    out = np.zeros((p, p))
    out[np.triu_indices(p)] = flat
    return out + out.T - np.diag(np.diag(out))


def doubles(exact):
    return np.array(exact, dtype=object).astype(float)


@dataclass(frozen=True)
class Oracle:
    noisy: np.ndarray  # S, and its noise's scale for every entry; 0 where it is known
    scale: np.ndarray
    power: int
    n: int | None
    told: tuple[float, float]  # n̂ and the scale of its noise
    first: int  # 1 if the first column is 1
    rows: tuple  # m, κ, ν, Ψ of the law of the normal columns
    answers: tuple | None  # m, P, a, b of y given the others
    middle: float
    size: float

    @classmethod
    def of(cls, release):
        model, scale, told = release.model, float(release.scale), (0.0, 0.0)
        flat, unit = np.array(release.noisy, dtype=float), np.asarray(model.units)
        if release.joint:
            flat, told = flat[:-1], (flat[-1] / model.count_unit, scale / model.count_unit)
        about = release.n if release.n is not None else max(told[0], 2)
        power = 1 if "laplace" in release.noise else 2
        if model.name == "bayesian_linear_regression":
            R, D = float(model.radius), model.dimension + 1
            noisy, wide = symmetric(flat * unit, D) / R**2, symmetric(scale * unit, D) / R**2
            rows = np.zeros(D - 1), 1.0, D + 2.0, 2 / (4 * D) * np.eye(D - 1)  # as `Design` has it
            answers = doubles(model.location), doubles(model.precision) / R**2, float(model.shape)
            answers = *answers, float(model.scale) / R**2
            return cls(noisy, wide, power, release.n, told, 0, rows, answers, 0.0, R)
        m, scatter, middle = np.atleast_1d(doubles(model.location)), doubles(model.scale), 0.0
        if model.name == "normal_inverse_gamma":
            R, middle = float(model.upper - model.lower) / 2, float(model.grid) * model.middle
            nu, scatter = 2 * float(model.shape), np.array([[2 * float(model.scale)]])
            flat[1] -= about / 12  # of rounding to the grid
        else:
            R, nu = float(model.radius), float(model.degrees)
        p, noisy, wide = m.size, np.zeros((m.size + 1,) * 2), np.zeros((m.size + 1,) * 2)
        noisy[0, 0] = about
        for out, all_ in ((noisy, flat * unit), (wide, scale * unit)):
            out[0, 1:] = out[1:, 0] = all_[:p] / R
            out[1:, 1:] = symmetric(all_[p:], p) / R**2
        rows = (m - middle) / R, float(model.strength), nu, scatter / R**2
        return cls(noisy, wide, power, release.n, told, 1, rows, None, middle, R)

    # --- coordinates: rows of M, δ, and n where it is private ------------
    @property
    def D(self):
        return len(self.noisy)

    def unrolled(self, x):
        D, below = self.D, np.tril_indices(self.D, -1)
        M = np.tile(np.eye(D), (len(x), 1, 1))
        M[:, below[0], below[1]] = x[:, : below[0].size]
        n = np.full(len(x), float(self.n or 0)) if self.n is not None else np.rint(x[:, -1])
        delta = np.empty((len(x), D))
        delta[:, self.first :] = x[:, below[0].size : below[0].size + D - self.first]
        if self.first:
            delta[:, 0] = np.log(np.maximum(n, 1))
        return M, delta, n

    def log_law(self, M, delta, n):
        """Ln p(S) up to a constant, parameters integrated out."""
        m, kappa, nu, scatter = self.rows
        p, f = m.size, self.first
        inner, d = M[:, f : f + p, f : f + p], delta[:, f : f + p]
        G = np.einsum("kij,kj,klj->kil", inner, np.exp(d), inner)
        updated, free = scatter + G, n - f
        total = (free - p - 1) / 2 * d.sum(axis=1)
        if f:
            shift = M[:, f : f + p, 0] - m
            updated = updated + (kappa * n / (kappa + n))[:, None, None] * shift[:, :, None] * shift[:, None]
            total += p / 2 * np.log(kappa / ((kappa + n) * n))
        total += gammas(nu + n, free, p)
        total -= (nu + n) / 2 * np.linalg.slogdet(updated)[1]
        if self.answers is None:
            return total
        m, P, a, b = self.answers
        k = m.size
        root = M[:, :k, :k] * np.exp(delta[:, None, :k] / 2)
        weights = np.linalg.solve(np.swapaxes(M[:, :k, :k], 1, 2), M[:, k, :k, None])[..., 0]
        v = np.einsum("kij,ki->kj", root, weights - m)
        K = np.eye(k) + np.swapaxes(root, 1, 2) @ np.linalg.solve(P, root)
        quad = np.sum(v * np.linalg.solve(K, v[..., None])[..., 0], axis=1)
        rss = np.exp(delta[:, k])
        total -= np.linalg.slogdet(K)[1] / 2 + delta[:, :k].sum(axis=1) / 2
        total += ((n - k) / 2 - 1) * delta[:, k] - (a + n / 2) * np.log(b + (rss + quad) / 2)
        return total + special.gammaln(a + n / 2) - special.gammaln((n - k) / 2) - n / 2 * np.log(2)

    def log_target(self, x):
        with np.errstate(all="ignore"):
            M, delta, n = self.unrolled(x)
            inside = (n >= self.D) & (np.abs(x) < 1e6).all(axis=1) & (np.abs(delta) < 250).all(axis=1)
            out = np.full(len(x), NEVER)
            M, delta, n = M[inside], delta[inside], n[inside]
            total = self.log_law(M, delta, n) + np.sum((self.D - np.arange(self.D)) * delta, axis=1)
            if self.first:
                total -= delta[:, 0]
            S = np.einsum("kij,kj,klj->kil", M, np.exp(delta), M)
            lower = np.tril(self.scale > 0)
            away = np.abs((S - self.noisy)[:, lower] / self.scale[lower])
            total -= np.sum(away if self.power == 1 else away**2 / 2, axis=1)
            if self.n is None:
                away = np.abs(n - self.told[0]) / self.told[1]
                total -= away if self.power == 1 else away**2 / 2
            out[inside] = np.nan_to_num(np.maximum(total, NEVER), nan=NEVER)
        return out

    # --- the swarm ------------
    def begin(self, wide):
        """Centre and deviations of the normal law that the swarm starts from."""
        D, f = self.D, self.first
        about = self.n if self.n is not None else max(self.told[0], self.D + 1)
        noise = 1.5 * self.scale.max()
        values, vectors = np.linalg.eigh(self.noisy[f:, f:])
        floor = max(noise / 3, 1e-9 * about)
        held = (vectors * np.clip(values, floor, 2 * about)) @ vectors.T
        S = np.zeros((D, D))
        S[f:, f:] = held
        if f:
            shift = self.noisy[1:, 0] / about
            shift = shift / max(1.0, np.linalg.norm(shift))
            S[1:, 0] = S[0, 1:] = about * shift
            S[0, 0] = about
            between = about * np.outer(shift, shift)
            values, vectors = np.linalg.eigh(held - between)
            S[1:, 1:] = (vectors * np.maximum(values, floor)) @ vectors.T + between
        root = np.linalg.cholesky(S)
        delta, M = 2 * np.log(np.diag(root)), root / np.diag(root)
        below = np.tril_indices(D, -1)
        centre = np.concatenate([M[below], delta[f:]])
        spread = np.concatenate([np.where(below[1] < f, 0.3, 1.0), np.full(D - f, 1.5)])
        if wide:
            centre = np.concatenate([0 * M[below], np.full(D - f, np.log(about / 10))])
            spread = np.concatenate([np.full(below[0].size, 3.0), np.full(D - f, 5.0)])
        if self.n is None:
            centre, spread = np.append(centre, about), np.append(spread, (2 + 3 * wide) * self.told[1] + 1)
        return centre, spread

    def draws(self, seed, *, wide, size=SIZE, moves=MOVES, last=LAST):
        """Rows θ of the posterior."""
        rng = np.random.default_rng(seed)
        centre, spread = self.begin(wide)

        def start(x):
            return -0.5 * np.sum(((x - centre) / spread) ** 2, axis=1)

        x = centre + spread * rng.standard_normal((3 * size, centre.size))
        value = self.log_target(x)
        kept = np.argsort(value <= NEVER, kind="stable")[:size]
        x, value = x[kept], value[kept]
        base, reached = start(x), 0.0
        bold, far = 1.0, 2.38 / np.sqrt(2 * centre.size)
        for _ in range(600):
            gain = np.where(value <= NEVER, -np.inf, value - base)
            step = warmer(gain, 1 - reached)
            weight = np.exp(step * (gain - gain.max()))
            reached = min(1.0, reached + step)
            edges = np.cumsum(weight) / weight.sum()
            kept = np.minimum(np.searchsorted(edges, (np.arange(size) + rng.random()) / size), size - 1)
            x, value, base = x[kept], value[kept], base[kept]
            for turn in range(last if reached == 1 else moves):
                first, second = rng.integers(size, size=(2, size))
                gamma = far * bold * (np.exp(0.3 * rng.standard_normal((size, 1))) if turn % 4 else 0.3)
                new = x + gamma * (x[first] - x[second]) + 1e-3 * x.std(axis=0) * rng.standard_normal(x.shape)
                there, under = self.log_target(new), start(new)
                gap = reached * (there - value) + (1 - reached) * (under - base)
                taken = (np.log1p(-rng.random(size)) < gap) & (there > NEVER)
                x[taken], value[taken], base[taken] = new[taken], there[taken], under[taken]
                self.breathe(x, value, base, reached, start, rng)
                if turn % 4:
                    bold = np.clip(bold * np.exp(0.3 * (taken.mean() - 0.25)), 0.05, 3)
            if reached == 1:
                break
        return self.parameters(x, rng)

    def walked(self, x, sweeps, rng):
        """Yield a swarm after each of so many sweeps from x; one jump in ten spans two members."""
        value, flat, far = self.log_target(x), np.zeros(len(x)), 2.38 / np.sqrt(2 * x.shape[1])
        for turn in range(sweeps):
            first, second = rng.integers(len(x), size=(2, len(x)))
            gamma = far * np.exp(0.6 * rng.standard_normal((len(x), 1))) if turn % 10 else 1.0
            new = x + gamma * (x[first] - x[second]) + 1e-4 * x.std(axis=0) * rng.standard_normal(x.shape)
            there = self.log_target(new)
            taken = np.log1p(-rng.random(len(x))) < there - value
            x[taken], value[taken] = new[taken], there[taken]
            self.breathe(x, value, flat.copy(), 1.0, lambda rows: np.zeros(len(rows)), rng)
            yield x

    def breathe(self, x, value, base, reached, start, rng):  # noqa: PLR0917 - three arrays that move
        """Move the log variance of one column and, by its root, what it owes the others; or what it owes."""
        D, f = self.D, self.first
        below = np.tril_indices(D, -1)
        row = rng.integers(f, D)
        change = rng.choice([0.02, 0.3, 3.0], (len(x), 1)) * rng.standard_normal((len(x), 1))
        own, volume, new = np.nonzero(below[0] == row)[0], 0.0, x.copy()
        means = np.concatenate([self.rows[0], np.zeros(D)])  # of columns from `f` on
        if row > f and rng.random() < 0.5:
            k = rng.integers(f, row)
            new[:, own[k]] += change[:, 0]
            new[:, own[:k]] += change * x[:, np.nonzero(below[0] == k)[0]]
            new[:, own[0]] -= change[:, 0] * means[k - f] * f
        else:
            centre = np.zeros(own.size)
            if f and own.size:
                centre[0] = means[row - f]
            new[:, own] = centre + np.exp(change / 2) * (x[:, own] - centre)
            new[:, below[0].size + row - f] += change[:, 0]
            volume = own.size * change[:, 0] / 2
        there, under = self.log_target(new), start(new)
        gap = reached * (there - value) + (1 - reached) * (under - base) + volume
        taken = (np.log1p(-rng.random(len(x))) < gap) & (there > NEVER)
        x[taken], value[taken], base[taken] = new[taken], there[taken], under[taken]

    def parameters(self, x, rng):
        """θ given S: conjugate."""
        M, delta, n = self.unrolled(x)
        size = self.size
        if self.answers is None:
            m, kappa, nu, scatter = self.rows
            p, mean = m.size, M[:, 1:, 0]
            inner = M[:, 1:, 1:]
            shift = mean - m
            updated = scatter + np.einsum("kij,kj,klj->kil", inner, np.exp(delta[:, 1:]), inner)
            updated = updated + (kappa * n / (kappa + n))[:, None, None] * shift[:, :, None] * shift[:, None]
            B = np.tril(rng.standard_normal(updated.shape), -1)
            B[:, range(p), range(p)] = np.sqrt(rng.chisquare((nu + n)[:, None] - np.arange(p)))
            root = np.linalg.cholesky(updated) @ np.swapaxes(np.linalg.inv(B), 1, 2)
            centre = (kappa * m + n[:, None] * mean) / (kappa + n)[:, None]
            noise = rng.standard_normal(centre.shape) / np.sqrt(kappa + n)[:, None]
            mu = centre + np.einsum("kij,kj->ki", root, noise)
            covariance = root @ np.swapaxes(root, 1, 2)
            upper = np.triu_indices(p)
            return np.column_stack([self.middle + size * mu, size**2 * covariance[:, upper[0], upper[1]]])
        m, P, a, b = self.answers
        k = m.size
        root = M[:, :k, :k] * np.exp(delta[:, None, :k] / 2)
        weights = np.linalg.solve(np.swapaxes(M[:, :k, :k], 1, 2), M[:, k, :k, None])[..., 0]
        G = root @ np.swapaxes(root, 1, 2)
        centre = m + np.linalg.solve(P + G, np.einsum("kij,kj->ki", G, weights - m)[..., None])[..., 0]
        v = np.einsum("kij,ki->kj", root, weights - m)
        K = np.eye(k) + np.swapaxes(root, 1, 2) @ np.linalg.solve(P, root)
        scale = b + (np.exp(delta[:, k]) + np.sum(v * np.linalg.solve(K, v[..., None])[..., 0], axis=1)) / 2
        variance = scale / rng.standard_gamma(a + n / 2)
        half = np.linalg.cholesky(P + G)
        noise = np.linalg.solve(np.swapaxes(half, 1, 2), rng.standard_normal((len(x), k, 1)))[..., 0]
        w = centre + np.sqrt(variance)[:, None] * noise
        return np.column_stack([w, size**2 * variance])


def gammas(above, below, p):
    """Ln Γ_p(above/2)/Γ_p(below/2) up to a constant."""
    i = np.arange(p)
    return np.sum(
        special.gammaln((above[:, None] - i) / 2) - special.gammaln((below[:, None] - i) / 2), axis=1
    )


def warmer(gain, most):
    """A step that leaves half of the swarm."""

    def left(step):
        weight = np.exp(step * (gain - gain.max()))
        return weight.sum() ** 2 / np.sum(weight**2)

    if left(most) > gain.size / 2:
        return most
    low, high = 1e-300, most
    for _ in range(60):
        middle = np.sqrt(low * high) if high > 4 * low else (low + high) / 2
        low, high = (middle, high) if left(middle) > gain.size / 2 else (low, middle)
    return low
