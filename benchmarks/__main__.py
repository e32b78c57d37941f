"""Run every benchmark of this folder one after another: `make bench`.

Each module prints its table and writes it to benchmarks/results/<module>.csv; then the table of ratios in
benchmarks/README.md is renewed. UCI files come from DAMS_DATA_DIR or are downloaded.
"""

import pkgutil
import subprocess
import sys
from pathlib import Path

import benchmarks
from benchmarks import ratios

# Not measurements themselves.
SHARED = {"__main__", "cells", "ratios"}


def main() -> int:
    folder = Path(benchmarks.__path__[0])
    (folder / "results").mkdir(exist_ok=True)
    failed = []
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name in SHARED:
            continue
        print(f"\n== {module.name}", flush=True)
        target = folder / "results" / f"{module.name}.csv"
        command = [sys.executable, "-m", f"benchmarks.{module.name}", "--csv", str(target)]
        if subprocess.run(command).returncode:
            failed.append(module.name)
    ratios.write()
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
