"""`python -m coyote_env`: the same as the `coyote` command."""

import sys

from coyote_env.cli import main

sys.exit(main())
