"""How numbers stand in the tables that scripts generate for `crates/types`."""


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    """A number that may be negative."""
    return varint(n * 2 if n >= 0 else -n * 2 - 1)
