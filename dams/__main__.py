"""`python -m dams` is the command `dams`."""

import sys

from dams.cli import main

if __name__ == "__main__":
    sys.exit(main())
