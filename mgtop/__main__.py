"""``python -m mgtop``."""

from mgtop.cli.entry import main

if __name__ == "__main__":
    main()
