"""What a recorded 3D scene sends to the browser."""

from __future__ import annotations

import base64
import re

import msgspec
import zstandard


def recorded(page: str) -> list[tuple[float, dict]]:
    """Times and messages of a page."""
    (data,) = re.findall(r'__VISER_EMBED_DATA__="([^"]+)"', page)
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(base64.b64decode(data)[8:])
    size = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + size])["messages"]
