"""Writes files of TIFF of every kind that is read: for tests, by the format's specification alone."""
import struct
import zlib

NONE, LZW, JPEG, OLD_DEFLATE, DEFLATE, PACKBITS = 1, 5, 7, 32946, 8, 32773
SHORT, LONG, RATIONAL, LONG8 = 3, 4, 5, 16
WIDTHS = {SHORT: 2, LONG: 4, RATIONAL: 8, LONG8: 8}
KINDS = {"u8": ("B", 1), "u16": ("H", 1), "u32": ("I", 1), "i8": ("b", 2), "i16": ("h", 2), "i32": ("i", 2), "i64": ("q", 2), "f16": ("e", 3), "f32": ("f", 3), "f64": ("d", 3)}


def lzw(data):
    out, held, bits_held = bytearray(), 0, 0

    def put(code, bits):
        nonlocal held, bits_held
        held, bits_held = held << bits | code, bits_held + bits
        while bits_held >= 8:
            bits_held -= 8
            out.append(held >> bits_held & 255)
        held &= (1 << bits_held) - 1

    table, width, word = {bytes([i]): i for i in range(256)}, 9, b""
    following = 258
    put(256, width)
    for byte in data:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        put(table[word], width)
        table[longer] = following
        following += 1
        if following == 4095:
            put(256, width)
            table, width, following = {bytes([i]): i for i in range(256)}, 9, 258
        elif following == 1 << width:
            width += 1
        word = bytes([byte])
    if word:
        put(table[word], width)
        if following + 1 == 1 << width and width < 12:
            width += 1
    put(257, width)
    put(0, -bits_held % 8)
    return bytes(out)


def packbits(data):
    out = bytearray()
    at = 0
    while at < len(data):
        run = 1
        while run < 128 and at + run < len(data) and data[at + run] == data[at]:
            run += 1
        if run > 1:
            out += bytes([257 - run, data[at]])
        else:
            while run < 128 and at + run < len(data) and data[at + run] != data[at + run - 1]:
                run += 1
            out += bytes([run - 1]) + data[at:at + run]
        at += run
    return bytes(out)


COMPRESS = {NONE: bytes, LZW: lzw, DEFLATE: zlib.compress, OLD_DEFLATE: zlib.compress, PACKBITS: packbits}


def rows_of_bytes(rows, kind, order, samples, predictor):
    """Rows of numbers as they are before compression."""
    code = KINDS[kind][0]
    size = struct.calcsize("<" + code)
    out = b""
    for row in rows:
        if predictor == 2:
            whole = [struct.unpack("<" + "BHIQ"[(1, 2, 4, 8).index(size)], struct.pack("<" + code, n))[0] for n in row]
            row = whole[:samples] + [(b - a) % 256 ** size for a, b in zip(whole, whole[samples:])]
            out += struct.pack(f"{order}{len(row)}{'BHIQ'[(1, 2, 4, 8).index(size)]}", *row)
        elif predictor == 3:
            data = struct.pack(f">{len(row)}{code}", *row)
            planes = b"".join(data[i::size] for i in range(size))
            out += planes[:samples] + bytes((b - a) % 256 for a, b in zip(planes, planes[samples:]))
        else:
            out += struct.pack(f"{order}{len(row)}{code}", *row)
    return out


def page(value, kind, tile=None, rows=None, planar=False, compression=NONE, predictor=1, photometric=1, pieces=None, more=()):
    """value: [samples][height][width]. `pieces`: their bytes, in place of those of the value; `more`: entries (tag, type, values)."""
    return {"value": value, "kind": kind, "tile": tile, "rows": rows or len(value[0]), "planar": planar, "compression": compression, "predictor": predictor,
            "photometric": photometric, "pieces": pieces, "more": more}


def pieces_of(page, order):
    value, samples = page["value"], len(page["value"])
    height, width = len(value[0]), len(value[0][0])
    down, across = page["tile"] or (page["rows"], width)
    for planes in ([[plane] for plane in value] if page["planar"] else [value]):
        for top in range(0, height, down):
            for left in range(0, width, across):
                rows = [[plane[min(y, height - 1)][min(x, width - 1)] for x in range(left, left + across) for plane in planes]
                        for y in range(top, top + down if page["tile"] else min(top + down, height))]
                yield COMPRESS[page["compression"]](rows_of_bytes(rows, page["kind"], order, 1 if page["planar"] else samples, page["predictor"]))


def tiff(*pages, big_endian=False, wide=False):
    """A file of such pages; wide: BigTIFF."""
    order = ">" if big_endian else "<"
    number = "Q" if wide else "I"
    out = bytearray(b"MM" if big_endian else b"II")
    out += struct.pack(order + "HHHQ", 43, 8, 0, 16) if wide else struct.pack(order + "HI", 42, 8)
    link = len(out) - (8 if wide else 4)
    for one in pages:
        places, sizes = [], []
        for piece in one["pieces"] or pieces_of(one, order):
            places.append(len(out))
            sizes.append(len(piece))
            out += piece
            out += bytes(len(out) % 2)
        value, (code, form) = one["value"], KINDS[one["kind"]]
        samples = len(value)
        entries = [(256, LONG, [len(value[0][0])]), (257, LONG, [len(value[0])]), (258, SHORT, [8 * struct.calcsize("<" + code)] * samples), (259, SHORT, [one["compression"]]),
                   (262, SHORT, [one["photometric"]]), (277, SHORT, [samples]), (284, SHORT, [2 if one["planar"] else 1]), (339, SHORT, [form] * samples)]
        if one["predictor"] != 1:
            entries.append((317, SHORT, [one["predictor"]]))
        wide_numbers = LONG8 if wide else LONG
        if one["tile"]:
            entries += [(322, SHORT, [one["tile"][1]]), (323, SHORT, [one["tile"][0]]), (324, wide_numbers, places), (325, LONG, sizes)]
        else:
            entries += [(273, wide_numbers, places), (278, LONG, [one["rows"]]), (279, SHORT if max(sizes) < 65536 else LONG, sizes)]
        changed = {tag: (tag, kind, values) for tag, kind, values in one["more"]}
        entries = sorted([changed.pop(entry[0], entry) for entry in entries] + list(changed.values()))
        body = []
        for tag, kind, values in entries:
            data = struct.pack(f"{order}{len(values)}{ {2: 'H', 4: 'I', 8: 'Q'}[WIDTHS[kind]]}", *values)
            room = 8 if wide else 4
            if len(data) > room:
                out += bytes(len(out) % 2)
                place = len(out)
                out += data
                data = struct.pack(order + number, place)
            body.append(struct.pack(f"{order}HH{number}", tag, kind, len(values)) + data.ljust(room, b"\0"))
        out[link:link + struct.calcsize(number)] = struct.pack(order + number, len(out))
        out += struct.pack(order + ("Q" if wide else "H"), len(body)) + b"".join(body)
        link = len(out)
        out += struct.pack(order + number, 0)
    return bytes(out)
