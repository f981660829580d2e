# Times scipy.stats.bootstrap for tools/statbench: python3 bca.py FILE RUNS
# FILE has num,den of one cluster a line. Prints the seconds of the fastest run,
# the estimate and the limits of the 95 % BCa interval of sum(num)/sum(den).
import sys, time
import numpy as np
from scipy.stats import bootstrap

num, den = np.loadtxt(sys.argv[1], delimiter=",", unpack=True)

def ratio(n, d, axis=-1):
    return n.sum(axis=axis) / d.sum(axis=axis)

best = float("inf")
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    r = bootstrap((num, den), ratio, n_resamples=10000, paired=True, vectorized=True,
                  method="BCa", random_state=np.random.default_rng(1))
    best = min(best, time.perf_counter() - start)
print(f"{best:.4f} {ratio(num, den):.10f} {r.confidence_interval.low:.10f} {r.confidence_interval.high:.10f}")
