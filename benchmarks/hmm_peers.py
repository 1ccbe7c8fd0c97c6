"""Run in an environment of its own by hmm.py --peers: one EM iteration of hmmlearn, one FFBS of dynamax.

Both get the same cells as multinomial-like scores: hmmlearn's categorical model cannot hold counts of several
features, so its MultinomialHMM gets the 40 values of the widest feature; dynamax gets the scores themselves.
"""

import sys
import time
import warnings

import numpy as np


def cpu(work, seconds=3.0):
    work()
    times, begun = 0, time.process_time()
    while time.process_time() - begun < seconds:
        work()
        times += 1
    return (time.process_time() - begun) / times


def hmmlearn_iteration(counts, chains, states):
    from hmmlearn.hmm import MultinomialHMM  # noqa: PLC0415

    steps = len(counts) // chains
    wide = counts[:, 6:46].astype(int)
    wide[wide.sum(axis=1) == 0, 0] = 1
    model = MultinomialHMM(n_components=states, n_iter=1, init_params="ste", random_state=0)
    return cpu(lambda: model.fit(wide, lengths=[steps] * chains))


def dynamax_path(scores, chains, states):
    import jax  # noqa: PLC0415
    from dynamax.hidden_markov_model import hmm_posterior_sample  # noqa: PLC0415

    steps = len(scores) // chains
    batch = scores.reshape(chains, steps, states)
    initial, matrix = np.full(states, 1 / states), np.full((states, states), 0.1 / (states - 1))
    np.fill_diagonal(matrix, 0.9)
    draw = jax.jit(jax.vmap(lambda key, s: hmm_posterior_sample(key, initial, matrix, s)))
    keys = jax.random.split(jax.random.PRNGKey(0), chains)
    return cpu(lambda: jax.block_until_ready(draw(keys, batch)))


if __name__ == "__main__" and len(sys.argv) > 1:
    warnings.simplefilter("ignore")
    data = np.load(sys.argv[1])
    chains, states = int(data["chains"]), data["scores"].shape[1]
    print(f"hmmlearn EM iteration on one feature {hmmlearn_iteration(data['counts'], chains, states):.6f}")
    print(f"dynamax forward filter, backward sample {dynamax_path(data['scores'], chains, states):.6f}")
