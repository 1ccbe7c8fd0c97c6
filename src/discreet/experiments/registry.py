"""Every experiment by name: what it shows, where it was published, and the function that redraws it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from discreet.catalogue import resolve


@final
@dataclass(frozen=True)
class Experiment:
    """A published figure as a function (folder, seed, quick) → files written; imported when first called."""

    title: str
    published: str
    home: str  # module:function in discreet.experiments
    note: str = ""  # what the publication printed wrong, as docs/errata.md numbers it
    also: tuple[str, ...] = ()  # its numbers in the papers: f16-figure-1, gsc17-figure-2

    def __call__(self, out: Path, seed: int = 0, quick: bool = False) -> tuple[Path, ...]:  # noqa: FBT001, FBT002 - the contract of every experiment
        """Write the picture and its numbers; `quick` draws fewer points, never other ones."""
        out.mkdir(parents=True, exist_ok=True)
        written: tuple[Path, ...] = resolve(f"experiments.{self.home}")(out, seed, quick)
        return written


SIGMA = "erratum 3: the printed Gaussian baseline has √2 times the noise it needs; both are drawn"
COROLLARY = "erratum 1: Corollary 16 as printed under-reports the diffused curve; both are drawn"

EXPERIMENTS: dict[str, Experiment] = {
    "figure-4.1": Experiment(
        "Truncated and tempered posteriors of one proportion",
        "G20 fig. 4.1; F16 fig. 1",
        "thesis.tempered:figure_4_1",
        "erratum 12: T is 2.7726, printed 2.7; the two readings of the tempered prior are both drawn",
        ("f16-figure-1",),
    ),
    "figure-4.2": Experiment(
        "Error of one posterior draw against the number of records",
        "G20 fig. 4.2; F16 fig. 2",
        "thesis.error:figure_4_2",
        "erratum 12: with n public, noise on the success count alone is enough; both are drawn",
        ("f16-figure-2",),
    ),
    "figure-5.1": Experiment(
        "Rényi curves of the diffused posterior", "G20 fig. 5.1", "thesis.curves:figure_5_1", COROLLARY
    ),
    "figure-5.2": Experiment(
        "Rényi curves of the concentrated posterior",
        "G20 fig. 5.2",
        "thesis.curves:figure_5_2",
        "erratum 1: Corollary 16 is loose for orders below 2; both are drawn",
    ),
    "figure-5.3": Experiment(
        "KL divergence from the true posterior, order 2", "G20 fig. 5.3", "thesis.kl:figure_5_3", SIGMA
    ),
    "figure-5.4": Experiment(
        "KL divergence from the true posterior, order 15", "G20 fig. 5.4", "thesis.kl:figure_5_4", SIGMA
    ),
    "figure-5.5": Experiment(
        "Held-out negative log-likelihood, order 2", "G20 fig. 5.5", "thesis.held_out:figure_5_5", SIGMA
    ),
    "figure-5.6": Experiment(
        "Held-out negative log-likelihood, order 15", "G20 fig. 5.6", "thesis.held_out:figure_5_6", SIGMA
    ),
    "figure-5.7": Experiment(
        "Held-out negative log-likelihood, prior right and wrong",
        "G20 fig. 5.7",
        "thesis.held_out:figure_5_7",
        SIGMA,
        ("gsc17-figure-1",),
    ),
    "figure-5.8": Experiment(
        "Held-out negative log-likelihood, uniform prior",
        "G20 fig. 5.8",
        "thesis.held_out:figure_5_8",
        "erratum 5: the prior (1, 2) concentrates at 0.5, printed 0.2; " + SIGMA,
        ("gsc17-figure-2",),
    ),
    "adversarial-data": Experiment(
        "Privacy of one draw from a posterior that is neither tempered nor private",
        "F16 suppl. A, fig. 1; G20 ch. 4",
        "adversarial:figure",
        "erratum 12: 2Δ/T is loose at finite n; the exact worst case is drawn beside it",
        ("f16-figure-s1",),
    ),
    "figure-7.2": Experiment(
        "Flip probability of two Bernoulli profiles against the difference of their p",
        "G20 fig. 7.2",
        "profiles.captions:figure_7_2",
        "erratum 18: the printed flip needs positive parts",
    ),
    "figure-7.3": Experiment(
        "Costs of four categories under k-ary randomised response, eq. (7.9)",
        "G20 fig. 7.3",
        "profiles.captions:figure_7_3",
        "erratum 19: Table 7.1 is empty in the text at hand; its profiles are reconstructed",
    ),
    "figure-7.4": Experiment(
        "Costs of four categories under the Smooth Categorical mechanism, eq. (7.9)",
        "G20 fig. 7.4",
        "profiles.captions:figure_7_4",
        "erratum 19: the largest error is not unique; Table 7.1 is reconstructed",
    ),
    "figure-7.5": Experiment(
        "P(output = 1) against ε, six Bernoulli profiles, randomised response",
        "G20 fig. 7.5",
        "profiles.captions:figure_7_5",
        "",
    ),
    "figure-7.6": Experiment(
        "P(output = 1) against ε, 21 Bernoulli profiles, randomised response",
        "G20 fig. 7.6",
        "profiles.captions:figure_7_6",
        "",
    ),
    "figure-7.7": Experiment(
        "P(output = 1) against ε, six Bernoulli profiles, Smooth One Bit",
        "G20 fig. 7.7",
        "profiles.captions:figure_7_7",
        "erratum 19: the largest error is not unique",
    ),
    "figure-7.8": Experiment(
        "P(output = 1) against ε, 21 Bernoulli profiles, Smooth One Bit",
        "G20 fig. 7.8",
        "profiles.captions:figure_7_8",
        "erratum 19: the largest error is not unique",
    ),
    "profiles": Experiment(
        "Profile-based privacy, beyond the thesis: flips, costs by objective and kernels",
        "ours; GC19",
        "profiles.figures:figures",
        "erratum 19: three objectives are compared",
    ),
    "amplification": Experiment(
        "Amplification by iteration: bound against truth, our split against the published one, a trainer",
        "G20 ch. 6; BBGG19",
        "amplification_figures:figures",
        "erratum 16: the printed split is not the best, and the noise of step i is ignored",
    ),
    "hmm": Experiment(
        "Hidden Markov case study: states of regions by month, and prediction against ε",
        "F16 §5",
        "hidden_markov.case_study:case_study",
        "erratum 20: eq. (48) as printed samples another law; the right one is used. It takes minutes",
    ),
    "glm": Experiment(
        "Private logistic regression on Abalone, Adult and MNIST 3-vs-8: error and likelihood against ε",
        "GSC17 §5",
        "regression.figures:figures",
        "The paper prints no numbers; every mechanism at (ε, δ) is drawn too. It takes half an hour",
        ("gsc17-figure-3", "gsc17-figure-4"),
    ),
}


GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(EXPERIMENTS),
    "thesis": tuple(name for name in EXPERIMENTS if name.startswith("figure-")),
}


def chosen(names: Iterable[str]) -> list[str]:
    """Return the experiments that these names or published numbers stand for, each once."""
    every = [one for name in names for one in GROUPS.get(name, (called(name),))]
    return [name for name in dict.fromkeys(every) if name is not None]


def called(name: str) -> str | None:
    """Return the experiment that has this name, or this number in one of the papers."""
    lowered = name.lower()
    return next((key for key, one in EXPERIMENTS.items() if lowered in {key, *one.also}), None)


def find(name: str) -> Experiment:
    """Return the experiment of that name; an unknown one is refused."""
    if (key := called(name)) is None:
        raise ValueError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[key]
