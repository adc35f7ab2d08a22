"""`python -m bridoon` is `hs`."""

import sys

from bridoon.cli.main import main

sys.exit(main())
