"""``python -m mgtop``."""

from mgtop.cli.main import main

if __name__ == "__main__":
    main()
