import AdapterKit
import ODataEngine
import ODataModel
import Testing

@Suite
struct Version2FormTests {
    let form: Version2ValueCodec

    init() throws {
        form = Version2ValueCodec(
            model: try EntityDataModel(
                csdl: Array(
                    """
                    <edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices>
                    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="N">
                    <EnumType Name="Kind" IsFlags="true"><Member Name="A" Value="1"/><Member Name="B" Value="2"/></EnumType>
                    <EntityContainer Name="C"/></Schema></edmx:DataServices></edmx:Edmx>
                    """.utf8)))
    }

    private static let legacy = TypeReference(.primitive(.dateTimeOffset), facets: Facets(legacyType: "DateTime"))

    /// Type, the text of version 4 that makes the stored value; URL, JSON and XML of version 2.
    private static let spellings: [(TypeReference, String, String, Version2JSON, String)] = [
        (of(.binary), "Cv8", "X'0AFF'", .text("Cv8="), "Cv8="), (of(.boolean), "true", "true", .plain("true"), "true"),
        (of(.byte), "255", "255", .plain("255"), "255"), (of(.sByte), "-8", "-8", .plain("-8"), "-8"),
        (of(.int16), "-300", "-300", .plain("-300"), "-300"), (of(.int32), "70000", "70000", .plain("70000"), "70000"),
        (
            of(.int64), "9007199254740993", "9007199254740993L", .text("9007199254740993"), "9007199254740993"
        ),
        (of(.decimal), "3.50", "3.50M", .text("3.50"), "3.50"),
        (
            of(.decimal), "1E+22", "10000000000000000000000M", .text("10000000000000000000000"),
            "10000000000000000000000"
        ),
        (of(.double), "1.5", "1.5d", .plain("1.5"), "1.5"), (of(.double), "-INF", "-INF", .text("-INF"), "-INF"),
        (of(.single), "3.14", "3.14f", .plain("3.14"), "3.14"), (of(.single), "NaN", "NaN", .text("NaN"), "NaN"),
        (
            of(.guid), "0a0b0c0d-0000-0000-0000-00000000000f", "guid'0a0b0c0d-0000-0000-0000-00000000000f'",
            .text("0a0b0c0d-0000-0000-0000-00000000000f"), "0a0b0c0d-0000-0000-0000-00000000000f"
        ),
        (of(.string), "O'Neil <&>", "'O''Neil <&>'", .text("O'Neil <&>"), "O'Neil <&>"),
        (of(.string), "", "''", .text(""), ""),
        (
            of(.dateTimeOffset), "2024-01-15T10:30:00Z", "datetimeoffset'2024-01-15T10:30:00Z'",
            .text("/Date(1705314600000+0000)/"), "2024-01-15T10:30:00Z"
        ),
        (
            legacy, "2024-01-15T10:30:00.123Z", "datetime'2024-01-15T10:30:00.123'", .text("/Date(1705314600123)/"),
            "2024-01-15T10:30:00.123"
        ),
        (
            legacy, "1899-12-31T23:59:59.999Z", "datetime'1899-12-31T23:59:59.999'", .text("/Date(-2208988800001)/"),
            "1899-12-31T23:59:59.999"
        ),
        (of(.date), "1970-01-02", "datetime'1970-01-02T00:00:00'", .text("/Date(86400000)/"), "1970-01-02T00:00:00"),
        (of(.timeOfDay), "13:20:05.5", "time'PT13H20M05.5S'", .text("PT13H20M05.5S"), "PT13H20M05.5S"),
        (of(.duration), "P1DT2H", "'P1DT2H'", .text("P1DT2H"), "P1DT2H"),
        (TypeReference(.enumeration(QualifiedName("N", "Kind"))), "A,B", "'A,B'", .text("A,B"), "A,B"),
    ]

    private static func of(_ type: PrimitiveType) -> TypeReference { TypeReference(.primitive(type)) }

    @Test func `a stored value has one spelling in URLs, JSON and XML, and comes back from each that carries it`()
        throws
    {
        for (type, text, literal, json, xml) in Self.spellings {
            let value = try #require(
                StoredValueCodec(model: form.model).value(text: text, type: type), "\(type) \(text)")
            #expect(form.literal(value, type) == literal)
            #expect(form.json(value, type) == json)
            #expect(form.text(of: value, type) == xml)
            // By their spelling, since no NaN equals another.
            for read in [form.value(text: xml, type), form.value(json: Self.tree(json), type)] {
                #expect(try form.literal(#require(read), type) == literal, "\(xml) as \(type)")
            }
        }
    }

    private static func tree(_ json: Version2JSON) -> WireValue {
        switch json {
        case .text(let text): .string(text)
        case .plain("true"): true
        case .plain(let number): Int64(number).map(WireValue.int64) ?? .double(Double(number) ?? .nan)
        }
    }

    @Test func `null is null everywhere`() {
        #expect(form.json(.null, Self.of(.int64)) == .plain("null"))
        #expect(form.literal(.null, Self.of(.string)) == "null")
        #expect(form.text(of: .null, Self.of(.string)) == nil)
    }

    @Test func `what is no simple type has no text`() {
        let places = TypeReference(.primitive(.geographyPoint))
        let list = TypeReference(.primitive(.string), isCollection: true)
        for type in [places, list] {
            #expect(form.text(of: ["a"], type) == nil && form.json(["a"], type) == nil)
            #expect(form.literal(["a"], type) == nil && form.value(text: "a", type) == nil)
        }
    }

    @Test(arguments: [
        (PrimitiveType.int32, WireValue.string("x")), (.byte, 256), (.int32, .double(1.5)), (.boolean, 2),
        (.date, "/Date(1)/"), (.date, "2024-01-15T10:30:00"), (.dateTimeOffset, "/Date()/"),
        (.dateTimeOffset, "/Date(99999999999999999)/"), (.dateTimeOffset, "/Date(1/"), (.timeOfDay, "PT24H"),
        (.timeOfDay, "13:20:00"), (.binary, "Cv8"), (.guid, "0a0b"), (.int32, "/Date(5)/"), (.string, 5),
    ])
    func `what is none of the type's is refused`(type: PrimitiveType, json: WireValue) {
        #expect(form.value(json: json, Self.of(type)) == nil)
    }

    @Test func `an offset in minutes does not move the instant`() {
        let type = Self.of(.dateTimeOffset)
        #expect(
            form.value(json: "/Date(1705314600000+0060)/", type) == form.value(text: "2024-01-15T11:30:00+01:00", type))
        #expect(form.value(json: "/Date(-1-0060)/", type) == form.value(text: "1969-12-31T23:59:59.999Z", type))
    }

    @Test func `milliseconds have a range`() {
        let type = Self.of(.dateTimeOffset)
        for sign in ["", "-"] {
            #expect(form.value(json: .string("/Date(\(sign)399999999999999)/"), type) != nil)
            #expect(form.value(json: .string("/Date(\(sign)400000000000000)/"), type) == nil)
        }
    }

    @Test func `numbers and instants may come as SAP's clients send them`() {
        #expect(form.value(json: "5", Self.of(.int32)) == 5)
        #expect(form.value(json: .double(2), Self.of(.int64)) == 2)
        #expect(
            form.value(json: "2024-01-15T10:30", Self.legacy) == form.value(json: "/Date(1705314600000)/", Self.legacy))
        #expect(form.value(text: "1", Self.of(.boolean)) == true)
        #expect(form.value(text: "PT9H", Self.of(.timeOfDay)) == "09:00:00")
        #expect(form.value(json: "/Date(x)/", Self.of(.string)) == "/Date(x)/")
        #expect(form.value(json: "/Date(5)/", Self.of(.string)) == "/Date(5)/")
    }
}
