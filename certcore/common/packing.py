"""Long selections of nodes as short text for links: one bit per node, compressed.

The packed text is untrusted. Its size is checked before it is unpacked, and invalid text is refused.
"""

from __future__ import annotations

import base64
import binascii
import zlib

import numpy as np

#: First character of packed text. No list of numbers contains it, and URLs need not escape it.
SIGN = "~"
#: Largest number of nodes in a link. Larger selections cannot be made by hand.
MOST_NODES = 2**20


def pack(nodes: np.ndarray) -> str:
    """Indices of nodes as text."""
    bits = np.zeros(int(nodes.max(initial=-1)) + 1, dtype=np.uint8)
    bits[nodes] = 1
    squeezed = zlib.compress(np.packbits(bits).tobytes(), 9)
    return SIGN + base64.urlsafe_b64encode(squeezed).decode("ascii").rstrip("=")


def unpack(text: str) -> np.ndarray:
    """The nodes that `pack` wrote; ValueError for any other text."""
    try:
        raw = text.removeprefix(SIGN).encode("ascii")
        squeezed = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
        reader = zlib.decompressobj()
        data = reader.decompress(squeezed, MOST_NODES // 8 + 1)
        if not reader.eof or reader.unused_data or len(data) > MOST_NODES // 8:
            raise ValueError
    except (ValueError, binascii.Error, zlib.error) as error:
        raise ValueError("expected nodes such as 3,17,20-25, or the packed text of a link, complete") from error
    return np.flatnonzero(np.unpackbits(np.frombuffer(data, dtype=np.uint8)))
