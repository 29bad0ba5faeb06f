"""Write scipy.json: what SciPy says of samples that the tests of package stats use.

    python scipy_golden.py > scipy.json

Needs SciPy 1.17; NumPy comes with it. The samples are seeded and rounded, so
that they are the same wherever they are read.
"""

import json
import sys

import numpy as np
import scipy
from scipy import stats

random = np.random.default_rng(20240511)


def times(n, scale=1.0, digits=6):
    """Return n log-normal times."""
    return [round(float(v), digits) for v in scale * np.exp(0.2 * random.standard_normal(n))]


def interval(x, statistic, **options):
    """Return a 95 % BCa interval from many resamples."""
    result = stats.bootstrap((x,), statistic, n_resamples=50_000, method="BCa", rng=np.random.default_rng(1), **options)
    return list(result.confidence_interval)


def mann_whitney(a, b):
    """Return U and P: counted up to 50 values, also with ties, as every arrangement is tried."""
    if len(a) + len(b) > 50:
        method = "asymptotic"
    elif len(set(a + b)) == len(a + b):
        method = "exact"
    else:
        method = stats.PermutationMethod(n_resamples=np.inf)
    result = stats.mannwhitneyu(a, b, method=method)
    return {"a": a, "b": b, "statistic": float(result.statistic), "p": float(result.pvalue)}


def wilcoxon(d):
    """Return the smaller sum of ranks and P, likewise."""
    kept = [v for v in d if v != 0]
    if len(kept) > 50:
        result = stats.wilcoxon(d, correction=True, method="asymptotic")
    elif len({abs(v) for v in kept}) == len(kept):
        result = stats.wilcoxon(kept, method="exact")
    else:
        result = stats.wilcoxon(kept, method=stats.PermutationMethod(n_resamples=np.inf))
    return {"d": d, "statistic": float(result.statistic), "p": float(result.pvalue)}


def quantile(x, p):
    """Return the interval of a quantile between order statistics, null for an end that there is not."""
    ends = stats.quantile_test(x, q=0, p=p).confidence_interval(0.95)
    return {"x": x, "p": p, "lo": ends.low if np.isfinite(ends.low) else None, "hi": ends.high if np.isfinite(ends.high) else None}


def main():
    """Write everything."""
    coarse = [[round(v, 1) for v in times(n)] for n in (7, 5, 9, 9)]
    differences = [round(float(v), 3) for v in random.normal(0.3, 1, 12)]
    tied = [round(float(v), 1) for v in random.normal(0.1, 0.3, 14)]
    many = [round(float(v), 3) for v in random.normal(0.1, 1, 80)]
    skewed = times(20)
    golden = {
        "scipy": scipy.__version__,
        "t_quantiles": [[p, df, float(stats.t.ppf(p, df))] for p in (0.01, 0.2, 0.9, 0.975, 0.9995) for df in (1, 2, 3.7, 9, 50, 1000)],
        "mann_whitney": [
            mann_whitney(times(3), times(3)),
            mann_whitney(times(3), times(3, 4)),
            mann_whitney(times(8), times(5, 1.2)),
            mann_whitney(times(20), times(30, 1.1)),
            mann_whitney(coarse[0], coarse[1]),
            mann_whitney(coarse[2], coarse[3]),
            mann_whitney(times(40), times(30, 1.1)),
            mann_whitney(times(40, digits=1), times(30, 1.1, digits=1)),
        ],
        "wilcoxon": [
            wilcoxon(differences[:3]),
            wilcoxon(differences),
            wilcoxon(tied),
            wilcoxon(many[:50]),
            wilcoxon(many),
            wilcoxon([round(v, 1) for v in many]),
        ],
        "quantiles": [quantile(times(n), p) for n, p in ((5, 0.5), (6, 0.5), (8, 0.5), (21, 0.5), (40, 0.9), (200, 0.95), (60, 0.25))],
        "bca": [
            {"x": skewed, "of": "mean", "interval": interval(skewed, np.mean)},
            {"x": skewed, "of": "median", "interval": interval(skewed, np.median)},
            {"x": skewed, "of": "deviation", "interval": interval(skewed, lambda x, axis: np.std(x, ddof=1, axis=axis))},
        ],
        "mean_t": [
            {"x": x, "interval": list(stats.ttest_1samp(x, 0).confidence_interval(0.95))} for x in (times(3), times(9), times(14))
        ],
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
