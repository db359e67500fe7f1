"""Streaming plans that lie, as bytes with a right checksum (ops/plans/plan_bytes.cpp)."""
MASK = (1 << 64) - 1
CHECKSUM_AT, CHECKSUMMED_FROM = 16, 24


def mixed(v):
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9 & MASK
    v = (v ^ v >> 27) * 0x94D049BB133111EB & MASK
    return v ^ v >> 31


def sealed(plan):
    """The same bytes with a right checksum."""
    rest = plan[CHECKSUMMED_FROM:]
    value = 0x6361697265736E61
    words = [len(rest)] + [int.from_bytes(rest[at:at + 8], "little") for at in range(0, len(rest), 8)]
    for word in words:
        value = mixed((value * 0x9E3779B97F4A7C15 + word + 1) & MASK)
    return plan[:CHECKSUM_AT] + value.to_bytes(8, "little") + rest


def number(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def leaf(i):
    return 2 * i


def born(i):
    return 2 * i + 1


def plan_of(program, blocks, launches, changes=None):
    """`blocks`: names and bytes; `launches`: a duration and blocks with what is done to them; `changes`: by launch, blocks that are made (1) or
    dropped (0)."""
    out = bytearray(b"\x01CAIRNPL" + bytes([1]) + bytes(7) + bytes(8) + program)
    out += len(blocks).to_bytes(4, "little")
    for name, size in blocks:
        out += number(name) + number(size)
    out += len(launches).to_bytes(4, "little")
    for duration, uses in launches:
        out += number(duration) + number(len(uses)) + b"".join(number(4 * block + use) for block, use in uses)
    for i in range(len(launches) + 1):
        made = (changes or {}).get(i, ())
        out += number(len(made)) + b"".join(number(2 * block + make) for block, make in made)
    return sealed(bytes(out))


def array_of(plan):
    """A file of NumPy's format."""
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % len(plan)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + plan


def program_of(array):
    """Which procedure an honest plan belongs to; `array`: its file."""
    plan = array[10 + int.from_bytes(array[8:10], "little"):]
    return plan[24:32]
