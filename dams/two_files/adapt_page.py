"""The page of `dams adapt`: one file that needs no other, for whoever decides whether to deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import dams
from dams._page import make_environment
from dams.two_files.adapting import Adaptation
from dams.two_files.compare_page import coded
from dams.two_files.verdict import CANT_SEE

LOSSES = {"squared": "mean squared error", "brier": "Brier score"}
# Size of a plot, and the margin within it.
WIDTH, MARGIN = 180, 12
# Marks on the scale of differences.
N_TICKS = 3


def render(found: Adaptation, *, files: tuple[str, str], rows: tuple[int, int]) -> str:
    """Return the page."""
    table = found.comparison.table
    scale = _Scale.of(table[["difference_lower", "difference_upper"]].to_numpy())
    environment = make_environment(Path(__file__).parent)
    environment.filters["coded"] = coded
    gain, low, high = found.gain
    risk = table["estimate"].to_dict()[found.comparison.reference]
    return environment.get_template("adapt.html.jinja").render(
        title="Adapted" if found.adapted else "Not adapted",
        found=found,
        files=files,
        rows=rows,
        version=dams.__version__,
        loss=LOSSES.get(found.comparison.loss, found.comparison.loss),
        confidence=f"{100 * found.comparison.confidence:.4g}",
        gain={"share": _percent(gain, risk), "low": _percent(low, risk), "high": _percent(high, risk)},
        candidates=[_candidate(str(name), row, found, scale) for name, row in table.iterrows()],
        ticks=scale.ticks(),
        width=WIDTH,
        test=str(found.report) if found.report is not None else "",
        rejected=found.report is not None and found.report.rejected,
        sensitivity=str(found.sensitivity) if found.sensitivity is not None else "",
        cant_see=CANT_SEE,
    )


class _Scale:
    """Places of differences on a plot."""

    def __init__(self, low: float, high: float):
        self.low, self.high = low, high

    @classmethod
    def of(cls, limits: Any) -> _Scale:
        """Make a scale that holds all limits and 0."""
        finite = limits[np.isfinite(limits)]
        low, high = min(float(finite.min(initial=0.0)), 0.0), max(float(finite.max(initial=0.0)), 0.0)
        room = 0.05 * (high - low) or 1.0
        return cls(low - room, high + room)

    def place(self, value: float) -> float:
        """Return where a value lies, from the left."""
        inside = min(max(value, self.low), self.high)
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (inside - self.low) / (self.high - self.low), 1)

    def ticks(self) -> list[dict[str, Any]]:
        """Return round values with their places, 0 among them."""
        step = 10 ** np.floor(np.log10((self.high - self.low) / N_TICKS))
        step *= next(k for k in (1, 2, 5, 10) if k * step * (N_TICKS + 1) >= self.high - self.low)
        # Adding 0 takes the sign from −0.
        values = np.arange(np.ceil(self.low / step), np.floor(self.high / step) + 1) * step + 0.0
        return [{"at": self.place(v), "label": f"{v:.4g}".replace("-", "−"), "zero": v == 0} for v in values]


def _candidate(name: str, row: Any, found: Adaptation, scale: _Scale) -> dict[str, Any]:
    is_reference = name == found.comparison.reference
    difference = "—" if is_reference else f"{row['difference']:.4g}".replace("-", "−")
    interval = f"{row['difference_lower']:.4g} to {row['difference_upper']:.4g}".replace("-", "−")
    return {
        "name": name,
        "risk": f"{row['estimate']:.4g}",
        "interval": f"{row['lower']:.4g} to {row['upper']:.4g}",
        "source_risk": f"{row['source_risk']:.4g}",
        "difference": difference,
        "value": float(row["difference"]),
        "difference_interval": "" if is_reference else f"({interval})",
        "remark": "taken" if name == found.choice else "" if not is_reference else "not adapted",
        "look": "more" if row["difference_upper"] < 0 else "less" if row["difference_lower"] > 0 else "unclear",
        "plot": {
            "at": scale.place(row["difference"]),
            "low": scale.place(row["difference_lower"]),
            "high": scale.place(row["difference_upper"]),
        },
    }


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}".replace("-", "−") if whole > 0 else "—"
