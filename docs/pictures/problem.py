"""Draw the problem: `python docs/pictures/problem.py` writes problem.svg beside this file."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

FEATURES = ["flu shot", "smoker", "lactate"]
LOST, TRUE_ZERO, INK = "#d55e00", "#e8e8e8", "#222222"


@dataclass
class Place:
    """Patients of one place: what is true of them, what of it is recorded, and their label where it is known."""

    name: str
    note: str
    first: int
    clean: np.ndarray
    kept: np.ndarray
    label: list[str]


SOURCE = Place(
    "Source",
    "labels known; values lost at unknown rates mˢ",
    1,
    np.array([[1, 0, 2.1], [1, 1, 0.9], [0, 0, 3.4], [1, 1, 1.2]]),
    np.array([[0, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 1]], dtype=bool),
    ["1", "0", "1", "0"],
)
TARGET = Place(
    "Target",
    "no labels; values lost at other rates mᵗ",
    5,
    np.array([[0, 1, 1.7], [1, 0, 2.8], [1, 1, 0.8], [1, 0, 1.5]]),
    np.array([[1, 0, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1]], dtype=bool),
    ["?", "?", "?", "?"],
)


def draw_table(panel, place, kept, title, label):
    rows, columns = place.clean.shape
    for i in range(rows):
        panel.text(-0.15, rows - 0.5 - i, f"{place.first + i}", ha="right", va="center", fontsize=8, color="0.45")
        for j in range(columns):
            lost = not kept[i, j] and place.clean[i, j] != 0
            value = place.clean[i, j] if kept[i, j] else 0
            fill = "#fbe3d6" if lost else TRUE_ZERO if value == 0 else "white"
            panel.add_patch(Rectangle((j, rows - 1 - i), 1, 1, facecolor=fill, edgecolor="0.7", linewidth=0.8))
            style = {"color": LOST if lost else INK, "fontweight": "bold" if lost else "normal"}
            panel.text(j + 0.5, rows - 0.5 - i, f"{value:g}", ha="center", va="center", fontsize=11, **style)
        if label:
            panel.add_patch(
                Rectangle((3.25, rows - 1 - i), 0.75, 1, facecolor="#e3eef7", edgecolor="0.7", linewidth=0.8)
            )
            panel.text(3.625, rows - 0.5 - i, place.label[i], ha="center", va="center", fontsize=11, color=INK)
    for j, name in enumerate([*FEATURES, "Y"] if label else FEATURES):
        at = 3.625 if name == "Y" else j + 0.5
        panel.text(at, rows + 0.12, name, ha="center", va="bottom", fontsize=8, color=INK)
    panel.text(columns / 2, rows + 0.7, title, ha="center", va="bottom", fontsize=9, color="0.25")
    panel.set_xlim(-0.55, 4.1)
    panel.set_ylim(-0.1, rows + 1.2)
    panel.set_aspect("equal")
    panel.axis("off")


def main():
    plt.rcParams["svg.hashsalt"] = "dams"
    figure = plt.figure(figsize=(10.4, 3.1), layout="constrained")
    for part, place, letter in zip(figure.subfigures(1, 2, wspace=0.06), (SOURCE, TARGET), "st", strict=True):
        part.suptitle(f"{place.name}: {place.note}", fontsize=10, fontweight="bold", color=INK)
        truth, recorded = part.subplots(1, 2)
        draw_table(truth, place, np.ones_like(place.kept), "true, seen by nobody: X", label=False)
        exponent = {"s": "ˢ", "t": "ᵗ"}[letter]
        draw_table(recorded, place, place.kept, f"recorded: X̃{exponent}", label=True)
    words = (
        "Other patients, one law of (X, Y). A bold orange 0 is a lost value, a grey 0 a true zero: "
        "in the data they look alike."
    )
    figure.text(0.5, -0.02, words, ha="center", va="top", fontsize=9.5, color=INK)
    target = Path(__file__).with_suffix(".svg")
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
