"""What became of the pairs of one cell."""

from collections import Counter
from dataclasses import dataclass, field

VERDICTS = ("regressed", "improved", "same", "inconclusive")


@dataclass(frozen=True)
class Outcome:
    """Of one pair."""

    verdict: str
    holds_truth: bool  # the interval of the step time does
    welch: bool  # finds what there is; of an effect of 0: anything
    mann_whitney: bool


@dataclass
class Tally:
    """Counts over pairs."""

    pairs: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    hold_truth: int = 0
    welch: int = 0
    mann_whitney: int = 0

    def add(self, outcome: Outcome) -> None:
        self.pairs += 1
        self.verdicts[outcome.verdict] += 1
        self.hold_truth += outcome.holds_truth
        self.welch += outcome.welch
        self.mann_whitney += outcome.mann_whitney

    def share(self, verdict: str) -> float:
        return self.verdicts[verdict] / self.pairs

    def decided(self) -> int:
        """Pairs said to differ: the false ones where they do not."""
        return self.verdicts["regressed"] + self.verdicts["improved"]
