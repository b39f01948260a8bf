#!/usr/bin/python3
"""The golden frames through Python's protobuf, the second implementation: text to bytes, bytes to text, and whether
they cover every kind of message and every field of the protocol. Prints totals in Check's form."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, "proto", "golden"), os.path.join(ROOT, "tests", "lib")]

import make  # noqa: E402
from checks import check, close  # noqa: E402
from google.protobuf import text_format  # noqa: E402


def cut_frame(data):
    """The message of one delimited frame that is all of `data`."""
    length = shift = 0
    for head, byte in enumerate(data):
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            body = data[head + 1 :]
            if len(body) != length:
                raise ValueError("a length of %d before %d bytes" % (length, len(body)))
            return body
    raise ValueError("no length")


def note_fields(message, seen):
    for field, value in message.ListFields():
        seen.add(field.full_name)
        if field.message_type:
            for inner in value if field.label == field.LABEL_REPEATED else [value]:
                note_fields(inner, seen)


def main():
    protocol = make.load_protocol()
    names = make.names()
    seen = set()
    for name in names:
        text = make.text_of(name)
        from_text = text_format.Parse(text, make.new_message(protocol, name))
        hex_text = make.read(name, ".hex")
        data = bytes.fromhex(hex_text.replace("\n", ""))
        check(make.frame(from_text) == data, "%s: the text makes other bytes than the .hex holds" % name)
        check(make.to_hex(data) == hex_text, "%s: the .hex is not in make.py's form" % name)
        from_bytes = make.new_message(protocol, name)
        from_bytes.ParseFromString(cut_frame(data))
        check(from_bytes == from_text, "%s: the bytes hold another message than the text" % name)
        check(not from_bytes.UnknownFields(), "%s: unknown fields" % name)
        check(text_format.MessageToString(from_bytes) == text, "%s: the bytes print as another text" % name)
        note_fields(from_text, seen)

    stray = [f for f in os.listdir(make.GOLDEN) if f.endswith(".hex") and f[: -len(".hex")] not in names]
    check(not stray, "bytes without a text: %s" % stray)
    for message in protocol.DESCRIPTOR.message_types_by_name.values():
        for field in message.fields:
            check(field.full_name in seen, "no golden frame holds %s" % field.full_name)

    return close()


if __name__ == "__main__":
    sys.exit(main())
