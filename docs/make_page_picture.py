"""Make the picture of ``mgtop report --html`` from a recorded session.

    python docs/make_page_picture.py

Needs Chromium (Debian's package ``chromium``); writes docs/pictures/report-html.png.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SESSION = DOCS.parent / "tests" / "sessions" / "h200-alloc-retry" / "session.log.gz"
PICTURE = DOCS / "pictures" / "report-html.png"


def main() -> None:
    """Write the page of the session, and what a browser shows of it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("There is no Chromium here (Debian's package chromium).")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "session.log").write_bytes(gzip.decompress(SESSION.read_bytes()))
        page = folder / "report.html"
        report = [sys.executable, "-m", "mgtop", "report", str(folder), "--html", str(page)]
        subprocess.run(report, check=True)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += [f"--user-data-dir={folder / 'profile'}", "--window-size=1100,1400"]
        subprocess.run([browser, *flags, f"--screenshot={PICTURE}", page.as_uri()], check=True)
    print(PICTURE)


if __name__ == "__main__":
    main()
