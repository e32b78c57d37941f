"""The order of the gallery."""

FIRST = [
    "plot_two_hospitals.py",
    "plot_either_sign.py",
    "plot_rejected.py",
    "plot_target_risk.py",
    "plot_against_other_methods.py",
]


class GalleryOrder:
    """Sort the examples that a reader should see first before the others, which follow by name."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the key to sort by."""
        return (FIRST.index(filename) if filename in FIRST else len(FIRST), filename)

    def __repr__(self) -> str:
        return "<GalleryOrder>"
