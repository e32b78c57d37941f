"""Pictures of the library's own results. matplotlib is optional, so this module is loaded by name when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dams.diagnostics import UCARReport
    from dams.relative import RelativeMissingness
    from dams.sensitivity import Sensitivity

# Colours of Okabe and Ito, which colour-blind readers can tell apart; markers differ as well.
LESS, MORE, NEITHER = "#0072b2", "#d55e00", "#666666"
# One style of marker and colour per family of checks.
FAMILIES = {
    "pairs": ("o", "#0072b2", "two features together"),
    "values": ("s", "#d55e00", "law of the values"),
    "bounds": ("^", "#009e73", "bound, given presence"),
    "absences": ("v", "#cc79a7", "bound, given absence"),
    "together": ("D", "#e69f00", "lost together"),
    "population": ("X", "#666666", "population (no loss)"),
}
# No name takes more room than this many letters; in a pair, each.
LONGEST, LONGEST_IN_PAIR = 34, 20
# r is drawn on the scale of log(1 − r), on which −1 is as far from 0 as 0.5; what lies beyond these is marked there.
FURTHEST = -np.log2(1 - np.array([-19, 0.95]))
COARSE = np.array([-19, -9, -4, -1, 0, 0.5, 0.8, 0.9, 0.95])
FINE = np.array([-4, -2, -1, -0.5, -0.2, 0, 0.2, 0.4, 0.6, 0.8])


def plot_relative(relative: RelativeMissingness, *, axes: Any = None, most: int = 40) -> Any:
    """Draw r by feature, the furthest from zero on top: thick pointwise and thin simultaneous intervals."""
    frame = relative.to_frame()
    shown = frame.iloc[np.argsort(-np.abs(relative.r), kind="stable")[:most]]
    own = axes is None
    axes = _new_axes(len(shown)) if own else axes
    known = shown["always_recorded"] & (shown["lower"] == shown["upper"])
    styles = {
        "the target loses more": (MORE, "o", shown["lower"] > 0),
        "the target loses less": (LESS, "s", shown["upper"] < 0),
        "no clear difference": (NEITHER, "D", (shown["lower"] <= 0) & (shown["upper"] >= 0) & ~known),
        "always recorded": ("black", "x", known),
    }
    y = np.arange(len(shown))[::-1]
    for label, (color, marker, which) in styles.items():
        some, at = shown[which], y[which]
        if not len(some):
            continue
        for name, width in (("simultaneous_", 1.0), ("", 3.2)):
            axes.hlines(at, _scale(some[f"{name}lower"]), _scale(some[f"{name}upper"]), color=color, linewidth=width)
        axes.plot(_scale(some["r"]), at, marker, color=color, markersize=4.5, linestyle="none", label=label)
        for limit, arrow in zip(FURTHEST, ("<", ">"), strict=True):
            beyond = at[_scale(some["r"]) == limit]
            axes.plot(np.full(len(beyond), limit), beyond, arrow, color=color, markersize=8, linestyle="none")
    axes.axvline(0, color="black", linewidth=0.8, zorder=1)
    axes.set_yticks(y, [_short(name) for name in shown.index])
    axes.set_ylim(-0.7, len(shown) - 0.3)
    limits = [_scale(shown["simultaneous_lower"]).min() - 0.2, _scale(shown["simultaneous_upper"]).max() + 0.2]
    ticks = FINE if limits[1] - limits[0] < 3.5 else COARSE
    ticks = ticks[(_scale(ticks) >= limits[0]) & (_scale(ticks) <= limits[1])]
    axes.set_xticks(_scale(ticks), [f"{tick:g}".replace("-", "−") for tick in ticks])
    axes.set_xlim(*limits)
    axes.set_xlabel(
        "relative missingness r, on the scale of log(1 − r)\n0.5: the target shows half as much, −1: twice as much"
    )
    rest = len(frame) - len(shown)
    below = f"; {rest} nearer to zero not shown" if rest else ""
    level = f"{100 * relative.confidence:.4g} %"
    axes.set_title(f"{level} intervals: thick by feature, thin for all at once{below}", fontsize="medium", loc="left")
    _finish(axes, own=own)
    return axes


def _scale(r: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.clip(-np.log2(1 - np.asarray(r, dtype=float)), *FURTHEST)


def plot_checks(report: UCARReport, *, axes: Any = None, most: int = 20) -> Any:
    """Draw the size of the checks that are furthest off, with the effect of each beside it."""
    checks = report.checks
    # A bound that is kept is not far off, however many standard errors there are to spare.
    size = checks["z"].where(checks["kind"].isin(["bounds", "absences"]), checks["z"].abs())
    size = size[size > 0].sort_values(ascending=False, kind="stable").head(most)
    shown = checks.loc[size.index]
    own = axes is None
    axes = _new_axes(len(shown)) if own else axes
    y, x = np.arange(len(shown))[::-1], size.to_numpy()
    significant = (shown["p_value"] < report.alpha).to_numpy()
    for kind, (marker, color, label) in FAMILIES.items():
        which = (shown["kind"] == kind).to_numpy()
        if not which.any():
            continue
        axes.hlines(y[which], 0, x[which], color=color, linewidth=0.8)
        for some, face in ((which & significant, color), (which & ~significant, "white")):
            axes.scatter(x[some], y[some], 34, marker=marker, edgecolors=color, facecolors=face, zorder=3)
        axes.plot([], [], marker, color=color, markersize=5.5, linestyle="none", label=label)
    for at, along, effect in zip(y, x, shown["effect"], strict=True):
        text = f"× {effect:.2f}" if np.isfinite(effect) else ""
        axes.annotate(text, (along, at), (6, 0), textcoords="offset points", va="center", fontsize="x-small")
    axes.set_yticks(y, [_name(check) for check in shown.itertuples()])
    axes.set_ylim(-0.7, max(len(shown), 1) - 0.3)
    axes.set_xlim(0, 1.15 * max(float(x.max(initial=1)), 1))
    axes.set_xlabel("standard errors from UCAR\n× is the ratio of the target to what UCAR expects")
    verdict = "UCAR is rejected" if report.rejected else "nothing speaks against UCAR"
    title = f"The {len(shown)} largest of {len(checks)} checks: {verdict} (p = {report.p_value:.2g})"
    title = f"{title}\nfilled: significant at {report.alpha:g} for all checks at once"
    axes.set_title(title, fontsize="medium", loc="left")
    _finish(axes, own=own)
    return axes


# One colour and style of line per model.
LINES = (("#0072b2", "-"), ("#d55e00", "--"), ("#009e73", "-."), ("#cc79a7", ":"))


def plot_sensitivity(found: Sensitivity, *, axes: Any = None) -> Any:
    """Draw risks minus the reference's against Γ: filled between least and largest, thin limits with sampling error."""
    own = axes is None
    axes = _new_axes(12) if own else axes
    table = found.table.dropna(subset=["difference_upper"]) if "difference_upper" in found.table else found.table[:0]
    for (name, rows), (color, style) in zip(table.groupby("model", sort=False), LINES * len(table), strict=False):
        rows = rows.sort_values("gamma")
        gamma = rows["gamma"]
        axes.fill_between(gamma, rows["difference_lower"], rows["difference_upper"], color=color, alpha=0.15)
        axes.plot(gamma, rows["difference_upper"], style, color=color, linewidth=2, label=f"{name}, at worst")
        axes.plot(gamma, rows["difference_upper_limit"], style, color=color, linewidth=0.8)
        stops = float(found.stops[name])
        if 1 < stops <= gamma.max():
            axes.plot([stops], [0], "o", color=color, markersize=6)
            axes.annotate(f"{stops:.2f}", (stops, 0), (4, 5), textcoords="offset points", fontsize="small")
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    axes.set_xscale("log")
    ticks = sorted(set(table["gamma"])) if len(table) else [1.0]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("Γ: how far loss may depend on the outcome (1: not at all)")
    axes.set_ylabel(f"risk minus that of {_short(found.reference)}")
    title = (
        f"Below zero: better than {_short(found.reference)}; thin: with sampling error ({100 * found.confidence:.4g} %)"
    )
    axes.set_title(title, fontsize="medium", loc="left")
    _finish(axes, own=own)
    return axes


def _name(check: Any) -> str:
    joined = {"bounds": " | ", "absences": " | no "}.get(check.kind, " & ")
    parts = [(check.feature, check.feature_by_value), (check.other, check.other_by_value)]
    if not check.other:
        return _short(check.feature)
    names = [f"{_short(name, LONGEST_IN_PAIR)}{' (value)' * bool(by_value)}" for name, by_value in parts]
    return joined.join(names)


def _short(name: Any, longest: int = LONGEST) -> str:
    text = str(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _new_axes(n_rows: int) -> Any:
    """Axes of a figure of their own, tall enough for so many lines of text."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plot() needs matplotlib, which is not installed: `pip install matplotlib`. to_frame() and .checks have "
            "the numbers without it."
        ) from error
    return plt.subplots(figsize=(7.2, 1.7 + 0.21 * max(n_rows, 3)), layout="constrained")[1]


def _finish(axes: Any, *, own: bool) -> None:
    axes.tick_params(axis="y", length=0, labelsize="small")
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    if not axes.get_legend_handles_labels()[0]:
        return
    if own:
        axes.figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    else:
        axes.legend(fontsize="small")
