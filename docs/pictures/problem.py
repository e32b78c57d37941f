"""Draw the problem: `python docs/pictures/problem.py` writes problem.svg beside this file."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

FEATURES = ["vaccinated", "smoker", "lactate"]
CLEAN = np.array([[1, 0, 2.1], [1, 1, 0.9], [0, 0, 3.4], [1, 1, 1.2]])
KEPT_SOURCE = np.array([[0, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 1]], dtype=bool)
KEPT_TARGET = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 0]], dtype=bool)
LOST, TRUE_ZERO, INK = "#d55e00", "#e8e8e8", "#222222"


def draw_table(panel, kept, title, note):
    rows, columns = CLEAN.shape
    for i in range(rows):
        for j in range(columns):
            lost = not kept[i, j] and CLEAN[i, j] != 0
            value = CLEAN[i, j] if kept[i, j] else 0
            fill = "#fbe3d6" if lost else TRUE_ZERO if value == 0 else "white"
            panel.add_patch(Rectangle((j, rows - 1 - i), 1, 1, facecolor=fill, edgecolor="0.7", linewidth=0.8))
            panel.text(
                j + 0.5,
                rows - 0.5 - i,
                f"{value:g}",
                ha="center",
                va="center",
                fontsize=11,
                color=LOST if lost else INK,
                fontweight="bold" if lost else "normal",
            )
    for j, name in enumerate(FEATURES):
        panel.text(j + 0.5, rows + 0.12, name, ha="center", va="bottom", fontsize=8, color=INK)
    panel.text(columns / 2, rows + 0.75, title, ha="center", va="bottom", fontsize=10.5, fontweight="bold", color=INK)
    panel.text(columns / 2, -0.2, note, ha="center", va="top", fontsize=8.5, color="0.3", linespacing=1.4)
    panel.set_xlim(-0.05, columns + 0.05)
    panel.set_ylim(-1.1, rows + 1.3)
    panel.set_aspect("equal")
    panel.axis("off")


def main():
    plt.rcParams["svg.hashsalt"] = "dams"
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.9), layout="constrained")
    draw_table(
        panels[0], np.ones_like(KEPT_SOURCE), "What is true: X", "the same law of (X, Y) everywhere,\nseen by nobody"
    )
    draw_table(
        panels[1], KEPT_SOURCE, "What the source records: X̃ˢ", "with labels Y;\nloses values at unknown rates mˢ"
    )
    draw_table(panels[2], KEPT_TARGET, "What the target records: X̃ᵗ", "no labels;\nloses values at other rates mᵗ")
    figure.text(
        0.5,
        -0.03,
        "A bold orange zero is a lost value, a grey one a true zero. In the data they look the same.",
        ha="center",
        va="top",
        fontsize=9.5,
        color=INK,
    )
    target = Path(__file__).with_suffix(".svg")
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
