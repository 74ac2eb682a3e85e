"""seeds.py FOLDER: writes what the fuzzers start from, a folder for each target; what is there already stays.

The documents are the project's own: every kind of value, every construct of a grammar, and what a reader must refuse.
"""

import datetime
import plistlib
import sys
from pathlib import Path

JSON = [
    '{"a":[1,-2.5e3,"\\u00e9",null,true,{}]}', "[[[[]]],{}]", '"\\ud83d\\ude00\\n"', "18446744073709551616", "1e-310", " [ 1 , 2 ] ",
    '{"a":1,"a":2}', "[1.00000000000000000001]", "\ufeff{}", '["\u00e9\u20ac\U0001f600"]', "[1,]", '{"k":"v","l":["x",{"m":-0}]}',
]
VALUES = ("<array><integer>-1</integer><integer>0x1F</integer><real>1.5</real><real>nan</real><string>b&amp;&#65;</string><true/><false/>"
          "<date>2001-01-01T00:00:00Z</date><date>2001-01-01T00:00:00.5+01:00</date><data>\n\tAQI=\n</data><array/><dict/></array>")
PLIST = [
    f"<plist><dict><key>a</key>{VALUES}</dict></plist>", "<plist><dict><key>CF$UID</key><integer>1</integer></dict></plist>",
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
    f'"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n{VALUES}\n</plist>\n',
    "<plist><string>a<!-- c --><![CDATA[<b>]]></string></plist>", "<plist><string>]] \r\n \u00e9</string></plist>",
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
    '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n<plist version="1.0">\n<array>\n\t<dict>\n\t\t<key>a</key>\n'
    "\t\t<integer>1</integer>\n\t</dict>\n\t<dict>\n\t\t<key>a</key>\n\t\t<integer>2</integer>\n\t</dict>\n</array>\n</plist>\n",
]
XML = [
    '<value xmlns:v="urn:portico:value" v:type="dictionary"><a v:type="int">1</a><_ v:key="b c" v:type="array"><item>x</item></_></value>',
    '<v:value xmlns:v="urn:portico:value" v:type="array"><item v:type="real">1.5</item><item v:type="date">2001-01-01T00:00:00Z</item>'
    '<item v:type="data">AQI=</item><item v:type="null"/><item v:type="uid">3</item><item v:type="decimal">1e30</item></v:value>',
    '<p:a xmlns:p="u" p:b="&#65;" xmlns="d"><c/>t<![CDATA[<]]><c>d</c><!-- e --><?p q?></p:a>', "<a><b>1</b><b>2</b><c d='e'>f</c></a>",
    '<?xml version="1.0" encoding="ISO-8859-1" standalone="yes"?><a>\u00e9</a>', "<a>x<b/>y</a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
]
CBOR = ["a16161826162f5", "9f01ff", "bf6161f6ff", "c11a4fedb0c8", "c249010000000000000000", "c48221196ab3", "fb7ff0000000000000", "f93c00",
        "5f4101ff", "7f616161ffff", "d9d9f780", "1bffffffffffffffff", "3bffffffffffffffff", "c074323030312d30312d30315430303a30303a30305a"]
FORMATS = ["json", "plist", "xml", "bplist", "cbor"]  # the order of the catalogue


def binary():
    value = {"a": [1, -1, 2**63, 1.5, True, "b", "\u00e9", b"\x01", datetime.datetime(2001, 1, 1), plistlib.UID(3), {}, []], "b": "b" * 20}
    yield plistlib.dumps(value, fmt=plistlib.FMT_BINARY)
    yield plistlib.dumps([[{"k": i, "l": str(i)} for i in range(3)], list(range(20))], fmt=plistlib.FMT_BINARY)
    yield plistlib.dumps("alone", fmt=plistlib.FMT_BINARY)


def seeds():
    encoded = {
        "json": [each.encode() for each in JSON], "plist": [each.encode() for each in PLIST],
        "xml": [each.encode("iso-8859-1" if "8859" in each else "utf-8") for each in XML] + [XML[3].encode("utf-16")],
        "bplist": list(binary()), "cbor": [bytes.fromhex(each) for each in CBOR]}
    yield from encoded.items()
    for name in ["transcode", "convert"]:
        yield name, [bytes([FORMATS.index(source) + 5 * target]) + each
                     for source in FORMATS for each in encoded[source] for target in range(5)]


for target, documents in seeds():
    folder = Path(sys.argv[1], target)
    folder.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate(documents):
        Path(folder, f"seed-{number}").write_bytes(document)
