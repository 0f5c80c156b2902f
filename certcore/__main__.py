"""`python -m certcore`."""

import sys

from certcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
