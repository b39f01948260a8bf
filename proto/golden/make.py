#!/usr/bin/python3
"""Makes the golden frames: for each NAME.txtpb (a message in protobuf's text format) the delimited frame in NAME.hex.

    proto/golden/make.py            write the .hex files
    proto/golden/make.py --check    say which differ and write nothing

To add one: write request_<kind>.txtpb or reply_<kind>.txtpb (the first word says which message it is), run this, read the
bytes it made against the .proto, commit both. A .hex file that changes for an unchanged .txtpb is a break of the
protocol: see PROTOCOL.md, "Changing the protocol".

The bytes come from Python's protobuf; tests/unit/test_proto_golden.c checks them with protobuf-c.
"""

import os
import subprocess
import sys
import tempfile

from google.protobuf import text_format

GOLDEN = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(GOLDEN))
HEX_BYTES_A_LINE = 32


def load_protocol():
    """The module that protoc makes of tickpath.proto, from a folder that is gone again afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["protoc", "--proto_path=" + ROOT, "--python_out=" + folder, "proto/tickpath.proto"], check=True, cwd=ROOT
        )
        sys.path.insert(0, os.path.join(folder, "proto"))
        dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            import tickpath_pb2
        finally:
            sys.dont_write_bytecode = dont_write
            sys.path.pop(0)
    return tickpath_pb2


def names():
    return sorted(f[: -len(".txtpb")] for f in os.listdir(GOLDEN) if f.endswith(".txtpb"))


def read(name, suffix):
    with open(os.path.join(GOLDEN, name + suffix), encoding="utf-8") as file:
        return file.read()


def text_of(name):
    """The text form without its comment lines."""
    return "".join(line for line in read(name, ".txtpb").splitlines(True) if not line.startswith("#"))


def new_message(protocol, name):
    kind = name.split("_")[0]
    return {"request": protocol.Request, "reply": protocol.Reply}[kind]()


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def frame(message):
    body = message.SerializeToString(deterministic=True)
    return varint(len(body)) + body


def to_hex(data):
    rows = [data[i : i + HEX_BYTES_A_LINE].hex() for i in range(0, len(data), HEX_BYTES_A_LINE)]
    return "\n".join(rows) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    protocol = load_protocol()
    different = 0
    for name in names():
        message = text_format.Parse(text_of(name), new_message(protocol, name))
        path = os.path.join(GOLDEN, name + ".hex")
        made = to_hex(frame(message))
        old = read(name, ".hex") if os.path.exists(path) else None
        if made == old:
            continue
        different += 1
        print("%s: %s" % (name, "new" if old is None else "differs"))
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
    if check and different:
        sys.exit(1)


if __name__ == "__main__":
    main()
