"""Options that several commands share."""

from __future__ import annotations

import click
import pytest

from mgtop.cli.options import Address, AddressType


def test_an_address_may_be_half_of_one() -> None:
    kind = AddressType(Address("127.0.0.1", 8642))
    for text, meant in {
        "0.0.0.0:9000": Address("0.0.0.0", 9000),
        ":9000": Address("127.0.0.1", 9000),
        "9000": Address("127.0.0.1", 9000),
        "gpu-box": Address("gpu-box", 8642),
        "gpu-box:": Address("gpu-box", 8642),
        "[::1]:0": Address("::1", 0),
        "[::1]": Address("::1", 8642),
    }.items():
        assert kind.convert(text, None, None) == meant, text
    assert str(Address("::1", 80)) == "[::1]:80"
    for text in ("host:70000", "host:http", ":-1"):
        with pytest.raises(click.BadParameter, match="is not HOST:PORT"):
            kind.convert(text, None, None)
