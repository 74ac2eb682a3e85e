import AdapterKit
import Testing
import WireFormats

@Suite struct BinaryPropertyListReadingTests {
    private let format = BinaryPropertyListFormat()

    static let objects: [(bytes: [UInt8], value: WireValue)] = [
        ([0x00], .null), ([0x08], false), ([0x09], true),
        ([0x10, 0xFF], 255), ([0x11, 0xFF, 0xFF], 65535), ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], 4_294_967_295),
        ([0x13] + [UInt8](repeating: 0xFF, count: 8), -1),
        ([0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8), .uint64(.max)),
        ([0x14] + [UInt8](repeating: 0xFF, count: 8) + [0x80, 0, 0, 0, 0, 0, 0, 0], .int64(.min)),
        ([0x22, 0x3F, 0xC0, 0, 0], .double(1.5)), ([0x23, 0x80, 0, 0, 0, 0, 0, 0, 0], .double(-0.0)),
        ([0x23, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0], .double(.infinity)),
        ([0x33, 0x3F, 0xE0, 0, 0, 0, 0, 0, 0], .date(WireDate(secondsSinceReferenceDate: 0.5))),
        ([0x42, 0, 1], .data([0, 1])), ([0x4F, 0x10, 1, 7], .data([7])), ([0x50], ""), ([0x52, 0x61, 0], "a\0"),
        ([0x63, 0, 0xE9, 0xD8, 0x3D, 0xDE, 0], "é😀"), ([0x80, 5], .uid(5)), ([0x83, 1, 0, 0, 0], .uid(1 << 24)),
        ([0xA0], []), ([0xD0], [:]),
    ]

    @Test(arguments: objects)
    func `every kind of object is read, on the tape and as a tree`(bytes: [UInt8], value: WireValue) throws {
        let document = BinaryFixture(objects: [bytes]).bytes
        #expect(try format.read(document) == value)
        #expect(try format.readTape(document, limits: ReadingLimits()).value() == value)
    }

    @Test(
        arguments: [
            [0x01], [0x0F], [0x15] + [UInt8](repeating: 0, count: 32), [0x14, 1] + [UInt8](repeating: 0, count: 15),
            [0x11, 0], [0x21, 0, 0], [0x24], [0x32, 0, 0, 0, 0], [0x33, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0], [0x23, 0],
            [0x42, 0], [0x4F], [0x4F, 0x42], [0x4F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x4F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x51, 0x80], [0x61, 0xD8, 0x00],
            [0x61, 0xDC, 0x00],
            [0x62, 0xD8, 0, 0, 0x61], [0x61, 0], [0x70], [0x88] + [UInt8](repeating: 0, count: 9), [0x80], [0x90],
            [0xB0], [0xC0],
            [0xE0], [0xF0], [0xA1], [0xA1, 1], [0xA1, 0], [0xD1, 0], [0xD1, 0, 0], [0xAF, 0x10, 200],
        ] as [[UInt8]])
    func `a broken object is refused, on the tape and as a tree`(bytes: [UInt8]) {
        expectRefused(BinaryFixture(objects: [bytes]).bytes)
    }

    @Test(arguments: [
        BinaryFixture(objects: [[0x09]], offsetSize: 0), BinaryFixture(objects: [[0x09]], offsetSize: 9),
        BinaryFixture(objects: [[0x09]], referenceSize: 0), BinaryFixture(objects: [[0x09]], referenceSize: 255),
        BinaryFixture(objects: [[0x09]], top: 1), BinaryFixture(objects: [[0x09]], top: .max),
        BinaryFixture(objects: [[0x09]], count: 0), BinaryFixture(objects: [[0x09]], count: 2),
        BinaryFixture(objects: [[0x09]], count: .max), BinaryFixture(objects: [[0x09]], offsetSize: 8, count: 1 << 61),
        BinaryFixture(objects: [[0x09]], tableOffset: 8), BinaryFixture(objects: [[0x09]], tableOffset: .max),
        BinaryFixture(objects: [[0x09]], tableOffset: 10), BinaryFixture(objects: [[0x09]], offsets: [7]),
        BinaryFixture(objects: [[0x09]], offsets: [9]), BinaryFixture(objects: [[0x09]], offsets: [255]),
        BinaryFixture(objects: [[0xD1, 1, 1], [0x09]]), BinaryFixture(objects: [[0xA1, 1], [0xA1, 0]]),
        BinaryFixture(objects: [[0xD1, 1, 0], [0x51, 0x61]]),
    ])
    func `a broken table, a cycle, a key that is no string are refused`(fixture: BinaryFixture) {
        expectRefused(fixture.bytes)
    }

    @Test func `every truncation is refused`() {
        let whole = BinaryFixture(objects: [[0xD1, 1, 2], [0x51, 0x61], [0x10, 7]]).bytes
        #expect(throws: Never.self) { try format.read(whole) }
        for count in 0..<whole.count { expectRefused(Array(whole.prefix(count))) }
    }

    @Test(arguments: [2, 4, 8])
    func `shared children are counted each time, so a bomb stops at the limits`(width: Int) {
        let levels = (0..<60).map { level in [0xA0 | UInt8(width)] + [UInt8](repeating: UInt8(level + 1), count: width)
        }
        for leaf in [[0x09], [0x4F, 0x10, 100] + [UInt8](repeating: 0, count: 100)] as [[UInt8]] {
            var fixture = BinaryFixture(objects: levels + [leaf])
            fixture.offsetSize = 2
            fixture.offsets = offsets(of: fixture.objects)
            let limits = ReadingLimits(values: 100_000, expandedBytes: 1_000_000)
            expectRefused(fixture.bytes, limits, .limitExceeded)
        }
    }

    @Test func `children may be shared within the limits`() throws {
        let shared = BinaryFixture(objects: [[0xA3, 1, 1, 2], [0xA2, 2, 2], [0x51, 0x61]]).bytes
        #expect(try format.read(shared) == [["a", "a"], ["a", "a"], "a"])
    }

    @Test func `equal keys are refused or resolved, as the policy says`() throws {
        let doubled = BinaryFixture(objects: [[0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x61, 0, 0x61], [0x08], [0x09]]).bytes
        expectRefused(doubled, ReadingLimits(), .duplicateKey)
        let limits = ReadingLimits(duplicateKeys: .keepLast)
        #expect(try format.read(doubled, limits: limits) == ["a": true])
        #expect(try format.readTape(doubled, limits: limits).value() == ["a": true])
    }

    private func offsets(of objects: [[UInt8]]) -> [UInt8] {
        var next = 8
        return objects.flatMap { object in
            defer { next += object.count }
            return [UInt8(next >> 8), UInt8(next & 255)]
        }
    }

    private func expectRefused(
        _ bytes: [UInt8], _ limits: ReadingLimits = ReadingLimits(), _ kind: WireFormatError.Kind? = nil
    ) {
        func isExpected(_ error: any Error) -> Bool {
            guard let error = error as? WireFormatError, error.position != nil else { return false }
            return kind.map { $0 == error.kind } ?? (error.kind == .malformed || error.kind == .refused)
        }
        #expect { try format.read(bytes, limits: limits) } throws: { isExpected($0) }
        #expect { try format.readTape(bytes, limits: limits) } throws: { isExpected($0) }
    }
}
