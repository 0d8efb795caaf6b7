"""The one place for the version of mgtop and of mgtop-probe."""

VERSION = "0.1.0"
