"""The command ``wharf``: ``python -m wharf_data``."""

import signal
import sys

from . import _native


def main() -> None:
    """Runs the command with the arguments of the process."""
    # Ctrl-C ends the command as it does for other programs, not when Python next looks.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["wharf", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
