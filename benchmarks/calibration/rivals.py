"""Tests as they are often applied to step times: as if steps were independent."""

import numpy as np
from scipy.stats import mannwhitneyu, ttest_ind

from benchmarks.calibration.noise_models import Floats

ALPHA = 0.01


def welch_finds(before: Floats, after: Floats, effect: float) -> bool:
    """
    Welch's t test finds a difference, of the right sign if there is one.

    :param before: step times of one side, of all its runs.
    :param after: of the other side.
    :param effect: that there is in truth; not negative.
    """
    significant = ttest_ind(before, after, equal_var=False).pvalue < ALPHA
    return bool(significant and (effect == 0 or np.mean(after) > np.mean(before)))


def mann_whitney_finds(before: Floats, after: Floats, effect: float) -> bool:
    """
    The same of Mann and Whitney's U; parameters as of `welch_finds()`.

    :return: whether it finds what there is.
    """
    result = mannwhitneyu(after, before, method="asymptotic")
    is_longer = result.statistic > len(before) * len(after) / 2
    return bool(result.pvalue < ALPHA and (effect == 0 or is_longer))
