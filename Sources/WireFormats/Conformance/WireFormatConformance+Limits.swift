import AdapterKit
import WireFormats

extension WireFormatConformance {
    var limits: [ConformanceCheck] {
        [
            check("nesting is limited when reading and when writing", depthIsLimited),
            check("values and bytes are limited", sizeIsLimited),
        ]
    }

    private func nested(_ depth: Int) -> WireValue {
        (1..<depth).reduce([]) { value, level in level % 2 == 0 ? [value] : ["a": value] }
    }

    private func depthIsLimited() throws {
        try requireRoundTrip(nested(512))
        try requireError([.notRepresentable], "writing depth 513") { _ = try format.write(nested(513)) }
        let deep = try format.write(nested(513), options: WritingOptions(depth: 1000))
        try requireLimit(deep, ReadingLimits(), "reading depth 513")
        let tape = try format.readTape(deep, limits: ReadingLimits(depth: 513))
        try requireError([.notRepresentable], "writing the tape of depth 513") { _ = try format.write(tape) }
    }

    private func sizeIsLimited() throws {
        let many = try format.write(.array((0..<1000).map { .int64($0) }))
        _ = try format.read(many, limits: ReadingLimits(values: 1002))
        try requireLimit(many, ReadingLimits(values: 1000), "1000 values of 1000 tokens")
        let texts = try format.write(.array(Array(repeating: .string(String(repeating: "x", count: 100)), count: 100)))
        try requireLimit(texts, ReadingLimits(expandedBytes: 9_999), "10,000 bytes of text")
        let keys = try format.write([String(repeating: "k", count: 10_000): 1])
        try requireLimit(keys, ReadingLimits(expandedBytes: 9_999), "10,000 bytes of a key")
    }

    private func requireLimit(_ bytes: [UInt8], _ limits: ReadingLimits, _ what: String) throws {
        try requireError([.limitExceeded], what) { _ = try format.read(bytes, limits: limits) }
        try requireError([.limitExceeded], "\(what), tape") { _ = try format.readTape(bytes, limits: limits) }
    }
}
