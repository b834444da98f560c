"""Reads functional acknowledgements with pydifact and pyx12.

The file named on the command line holds a list of {"case", "standard",
"octets"}; for each one an object is written to standard output, a line each:
what the library says of the parties, the reference and the segments, and as
"detail" what it objects to.
"""

import io
import json
import sys
import warnings

from pydifact.segmentcollection import Interchange
from pyx12.x12file import X12Reader


def edifact(octets):
    # The library has no directory for service messages and says so each time.
    warnings.simplefilter("ignore")
    interchange = Interchange.from_str(octets)
    interchange.validate()
    messages = list(interchange.get_messages())
    segments = []
    for message in messages:
        message.validate()
        for segment in message.segments:
            elements = [":".join(e) if isinstance(e, list) else e for e in segment.elements]
            segments.append("|".join([segment.tag] + elements))
    return {
        "sender": ":".join(interchange.sender),
        "recipient": ":".join(interchange.recipient),
        "control": interchange.control_reference,
        "types": [m.type for m in messages],
        "segments": segments,
        "detail": "",
    }


def x12(octets):
    reader = X12Reader(io.StringIO(octets))
    sender = recipient = control = ""
    types, segments = [], []
    for segment in reader:
        tag = segment.get_seg_id()
        values = [segment.get_value("%s%02d" % (tag, i + 1)) or "" for i in range(len(segment))]
        if tag == "ISA":
            sender = values[5].strip() + ":" + values[4]
            recipient = values[7].strip() + ":" + values[6]
            control = values[12]
        elif tag == "ST":
            types.append(values[0])
        elif tag == "TA1":
            types.append(tag)
        segments.append("|".join([tag] + values))
    return {
        "sender": sender,
        "recipient": recipient,
        "control": control,
        "types": types,
        "segments": segments,
        "detail": "; ".join(str(e) for e in reader.pop_errors()),
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        cases = json.load(f)
    for case in cases:
        try:
            reading = {"edifact": edifact, "x12": x12}[case["standard"]](case["octets"])
        except Exception as e:  # whatever the library raises is its verdict
            reading = {"detail": "%s: %s" % (type(e).__name__, e)}
        reading["case"] = case["case"]
        print(json.dumps(reading))


main()
