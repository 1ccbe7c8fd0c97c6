"""What a release says: readings of released values. Post-processing: costs nothing."""

from discreet.lazy import public

__getattr__, __all__ = public(
    __name__,
    {
        "hidden_markov.fit": "fit=fit_hidden_markov",
        "hidden_markov.private_chain": "read=read_private_chain",
        "mixture.read": "fit=fit_mixture",
        "network.read": "fit=fit_network",
        "counts.naive_bayes": "exact=exact_naive_bayes",
        "local_frequencies": "frequencies",
        "normal.chains": "ChainLengths",
        "normal.linear_regression": "Design",
        "regression.perturbed_fit": "reading=read_perturbed_fit",
    },
)
