import AdapterKit
import Testing

@testable import ConnectedSystems

@Suite struct DocumentPathTests {
    private let document: WireValue = [
        "a": ["b": [1, ["c": "x"], ["c": "y"]], "": 5, "~/": 6, "*": 7], "n": .null,
    ]

    @Test func `a pointer leads to a member, an item or the root`() throws {
        func value(_ text: String) -> WireValue? { DocumentPath(text)?.value(in: document) }
        #expect(value("") == document)
        #expect(value("/a/b/0") == 1)
        #expect(value("/a/b/1/c") == "x")
        #expect(value("/a/") == 5)
        #expect(value("/a/~0~1") == 6)
        #expect(value("/n") == .null)
        #expect(value("/a/b/*/c") == ["x", "y"])
        for nowhere in ["/x", "/a/b/3", "/a/b/01", "/a/b/-1", "/a/b/99999999999999999999", "/n/x", "/a/b/c"] {
            #expect(value(nowhere) == nil, "\(nowhere)")
        }
        #expect(DocumentPath("/a/~0~1/x")?.description == "/a/~0~1/x")
    }

    @Test(arguments: [
        "a", "a/b", "/a~", "/a~2", String(repeating: "/a", count: 33), "/" + String(repeating: "a", count: 1_024),
    ])
    func `what is no pointer is refused`(text: String) {
        #expect(DocumentPath(text) == nil)
    }

    @Test func `elements are found whatever their namespace and order`() throws {
        let xml = """
            <r:list xmlns:r="urn:r" xmlns:o="urn:o" total="2"><r:item id="1">a</r:item><o:note/><o:item id="2"><name>b</name>\
            </o:item></r:list>
            """
        let document = try DocumentFormat.xml.read(Array(xml.utf8))
        func value(_ text: String) -> WireValue? { DocumentPath(text)?.value(in: document, isXML: true) }
        #expect(value("/list/@total") == "2")
        #expect(value("/list/item")?.arrayValue?.count == 2)
        #expect(value("/list/item/*/@id") == ["1", "2"])
        #expect(value("/list/item/1/name") == "b")
    }
}

@Suite struct FieldTypeTests {
    @Test func `values are read in the field's type, and left as they stand where they cannot be`() {
        let noon = WireDate(rfc3339: "2026-11-23T12:00:00Z")!
        let cases: [(FieldType, WireValue, WireValue)] = [
            (.integer, "12", 12), (.integer, 12.0, 12), (.integer, 12.5, 12.5), (.integer, "x", "x"),
            (.integer, ["a": 1], ["a": 1]), (.string(maximumLength: 9), 12, "12"),
            (.string(maximumLength: 9), true, true), (.number, "1.5", 1.5), (.number, "nan", "nan"),
            (.decimal, "12.50", .decimal(WireDecimal("12.50")!)), (.boolean(.literal), "1", true),
            (.boolean(.literal), "maybe", "maybe"),
            (.boolean(.literal), 1, 1), (.boolean(.number), 1, true), (.boolean(.number), 0, false),
            (.boolean(.number), 2, 2), (.boolean(.number), true, true),
            (.strings, "a", ["a"]), (.strings, [["$": "x", "@i": "1"]], ["x"]),
            (.date(.rfc3339), "2026-11-23T13:00:00.000+0100", .date(noon)),
            (.date(.rfc3339), "yesterday", "yesterday"),
            (.date(.day), "2026-11-23", .date(WireDate(rfc3339: "2026-11-23T00:00:00Z")!)),
            (.date(.unix), .int64(Int64(noon.secondsSince1970)), .date(noon)),
            (.date(.unixMilliseconds), .string("\(Int64(noon.secondsSince1970) * 1_000)"), .date(noon)),
            (.date(.unix), 1e300, 1e300), (.date(.unix), .string("inf"), .string("inf")),
        ]
        for (type, written, expected) in cases {
            #expect(type.decoded(written, .json) == expected, "\(type) \(written)")
        }
        #expect(FieldType.integer.decoded("", .csv) == .null)
        #expect(FieldType.string(maximumLength: 9).decoded("", .csv) == "")
    }

    @Test(arguments: [
        (DateForm.rfc3339, WireValue.string("2026-06-24T12:57:44.757087412Z"), "2026-06-24T12:57:44.757087412Z"),
        (.unix, 1_782_305_864.757087, "2026-06-24T12:57:44.757087Z"),
        (.unix, .decimal(WireDecimal("1782305864.7570874")!), "2026-06-24T12:57:44.7570874Z"),
        (.unix, "1782305864.7570874", "2026-06-24T12:57:44.7570874Z"),
        (.unixMilliseconds, .decimal(WireDecimal("1782305864757.0874")!), "2026-06-24T12:57:44.7570874Z"),
        (.unixMilliseconds, .int64(-1), "1969-12-31T23:59:59.999Z"),
    ])
    func `every digit of an instant is read, and written again`(form: DateForm, written: WireValue, text: String) {
        let instant = form.decoded(written)
        #expect(instant?.rfc3339 == text)
        guard let instant else { return }
        let again = form.encoded(.date(instant))
        let number = written.decimalValue ?? written.stringValue.flatMap { WireDecimal($0) }
        #expect(again.decimalValue == number && (number != nil || again == written))
    }

    @Test(arguments: DateForm.allCases)
    func `a date is written as it is read`(form: DateForm) {
        let midnight = WireValue.date(WireDate(rfc3339: "2026-11-23T00:00:00Z")!)
        #expect(form.decoded(form.encoded(midnight)).map { .date($0) } == midnight)
    }
}
