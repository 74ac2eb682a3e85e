import AdapterKit
import Testing
import WireFormats

@Suite struct BinaryPropertyListWritingTests {
    private let format = BinaryPropertyListFormat()

    static let scalars: [(value: WireValue, object: [UInt8])] = [
        (true, [0x09]), (0, [0x10, 0]), (255, [0x10, 255]), (256, [0x11, 1, 0]), (65536, [0x12, 0, 1, 0, 0]),
        (4_294_967_296, [0x13, 0, 0, 0, 1, 0, 0, 0, 0]), (-1, [0x13] + [UInt8](repeating: 0xFF, count: 8)),
        (.uint64(.max), [0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8)),
        (.double(-0.0), [0x23, 0x80, 0, 0, 0, 0, 0, 0, 0]), (.decimal(WireDecimal("5.00")!), [0x10, 5]),
        (.decimal(WireDecimal("12.50")!), [0x23, 0x40, 0x29, 0, 0, 0, 0, 0, 0]),
        (.decimal(WireDecimal("-1.00000000000000001")!), [0x5F, 0x10, 20] + [UInt8]("-1.00000000000000001".utf8)),
        (.date(WireDate(secondsSinceReferenceDate: 0.5)), [0x33, 0x3F, 0xE0, 0, 0, 0, 0, 0, 0]),
        (.data([1]), [0x41, 1]), ("ab", [0x52, 0x61, 0x62]), ("é😀", [0x63, 0, 0xE9, 0xD8, 0x3D, 0xDE, 0]),
        (.string(String(repeating: "a", count: 15)), [0x5F, 0x10, 15] + [UInt8](repeating: 0x61, count: 15)),
        (.uid(3), [0x80, 3]), (.uid(1 << 40), [0x87, 0, 0, 1, 0, 0, 0, 0, 0]), ([], [0xA0]), ([:], [0xD0]),
    ]

    @Test(arguments: scalars)
    func `a value is written in its narrowest form`(value: WireValue, object: [UInt8]) throws {
        #expect(try format.write(value) == BinaryFixture(objects: [object]).bytes)
    }

    @Test func `equal scalars are one object, and containers follow them`() throws {
        let value: WireValue = [["a": 1, "b": "a"], "a", 1, .double(1)]
        let objects: [[UInt8]] = [
            [0x51, 0x61], [0x10, 1], [0x51, 0x62], [0x23, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0], [0xD2, 0, 2, 1, 0],
            [0xA4, 4, 0, 1, 3],
        ]
        #expect(try format.write(value) == BinaryFixture(objects: objects, top: 5).bytes)
    }

    @Test(arguments: [1, 20, 30, 1000]) func `a scalar that comes again is the same object, however many there are`(
        count: Int
    )
        throws
    {
        let scalars = (0..<count).map { WireValue.string("item \($0)") }
        let bytes = try format.write(.array(scalars + scalars.reversed()))
        #expect(try format.read(bytes) == .array(scalars + scalars.reversed()))
        let written = bytes.suffix(24).prefix(8).reduce(0) { $0 << 8 | Int($1) }
        #expect(written == count + 1)
    }

    @Test(arguments: [200, 300, 70_000]) func `references and offsets grow with the document`(count: Int) throws {
        let value = WireValue.array((0..<count).map { .string("item \($0) é") })
        let bytes = try format.write(value)
        #expect(try format.read(bytes) == value)
        #expect(bytes[bytes.count - 25] == (count < 256 ? 1 : count < 65_536 ? 2 : 4))
    }

    @Test func `null is an error, or left out of a dictionary by option`() throws {
        #expect { try format.write(["a": .null]) } throws: { ($0 as? WireFormatError)?.kind == .notRepresentable }
        let options = WritingOptions(nulls: .omitMember)
        let bytes = try format.write(["a": .null, "b": 1], options: options)
        #expect(try format.read(bytes) == ["b": 1])
        let tape = try JSONFormat().readTape(Array("{\"a\":null,\"b\":1}".utf8), limits: ReadingLimits())
        #expect(try format.write(tape, options: options) == bytes)
        #expect(throws: WireFormatError.self) { try format.write([.null], options: options) }
    }

    @Test(arguments: [
        WireValue.decimal(WireDecimal("18446744073709551616")!), .date(WireDate(secondsSinceReferenceDate: .nan)),
    ])
    func `what a property list cannot carry is an error`(value: WireValue) {
        #expect { try format.write(value) } throws: { ($0 as? WireFormatError)?.kind == .notRepresentable }
    }

    @Test func `a date that no double is, is an error, or rounded down by option`() throws {
        for text in ["2026-06-24T12:57:44.7570874Z", "9999-12-31T23:59:59.999999Z", "2023-01-04T23:59:59.999999999Z"] {
            let instant = try #require(WireDate(rfc3339: text))
            let value = WireValue.date(instant)
            #expect { try format.write(value) } throws: { ($0 as? WireFormatError)?.kind == .notRepresentable }
            let written = try format.read(try format.write(value, options: WritingOptions(dateFractions: .truncate)))
            let carried = try #require(written.dateValue)
            #expect(carried < instant && carried.rfc3339?.prefix(10) == text.prefix(10), "\(carried)")
        }
        let device = WireValue.date(WireDate(secondsSinceReferenceDate: 446_659_264.757_087_45))
        #expect(try format.read(try format.write(device)) == device)
    }

    @Test func `a stream holds its bytes back until the end, within its limit`() throws {
        let writer = format.makeStreamWriter(options: WritingOptions(nulls: .omitMember, bufferedBytes: 1000))
        try writer.begin(.dictionary)
        try writer.key("gone")
        try writer.write(.null)
        try writer.key("items")
        try writer.begin(.array)
        for number in Int64(0)..<20 { try writer.write(["n": .int64(number)]) }
        #expect(writer.pendingBytes == 0 && writer.drain().isEmpty)
        try writer.end()
        try writer.end()
        try writer.finish()
        #expect(try format.read(writer.drain())["items"]?.arrayValue?.count == 20)
    }

    @Test func `a stream beyond its limit is an error`() throws {
        let list = try ListWriter(format, options: WritingOptions(bufferedBytes: 1000))
        #expect { for number in 0..<200 { _ = try list.append(.string("number \(number)")) } } throws: {
            ($0 as? WireFormatError)?.kind == .limitExceeded
        }
    }
}
