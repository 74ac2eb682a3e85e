import AdapterKit
import WireFormats

extension WireFormatConformance {
    var roundTrips: [ConformanceCheck] {
        [
            check("generated values come back", generatedValues),
            check("20,000 doubles come back bit by bit", doubles),
            check("10,000 integers come back", integers),
            check("a streamed list reads as the list", lists),
        ]
    }

    private func generatedValues() throws {
        for number in 0..<UInt64(count) {
            var generator = ValueGenerator(traits: format.traits, seed: seed &+ number)
            let value = generator.value()
            do { try requireRoundTrip(value) } catch {
                throw ConformanceViolation(description: "seed \(seed &+ number): \(error)")
            }
        }
    }

    private func doubles() throws {
        var generator = ValueGenerator(traits: format.traits, seed: seed)
        for _ in 0..<20 {
            try requireRoundTrip(.array((0..<1000).map { _ in .double(generator.double()) }))
        }
    }

    private func integers() throws {
        var random = SeededRandom(seed: seed)
        try requireRoundTrip(.array((0..<10_000).map { _ in .int64(Int64(bitPattern: random.next())) }))
    }

    private func lists() throws {
        let envelope = ListWriter.Envelope(path: ["d", "results"], leading: ["first": 1])
        let list = try ListWriter(format, envelope: envelope, chunkSize: 500)
        var bytes: [UInt8] = []
        let records = (0..<200).map { number -> WireValue in ["id": .int64(number), "name": .string("n\(number)")] }
        for record in records { bytes += try list.append(record) ?? [] }
        bytes += try list.finish(trailing: ["last": 2])
        let expected: WireValue = ["d": ["first": 1, "results": .array(records), "last": 2]]
        try require(try format.read(bytes) == expected, "the list reads differently")
    }
}

/// Value → bytes → tape → bytes → value, through two formats.
public struct TranscodingConformance: Sendable {
    let first: any WireFormat
    let second: any WireFormat

    public init(_ first: any WireFormat, _ second: any WireFormat) {
        (self.first, self.second) = (first, second)
    }

    public func check(seed: UInt64, count: Int = 200) -> ConformanceCheck {
        ConformanceCheck(name: "\(first.name) → \(second.name)") {
            let traits = first.traits.intersection(second.traits)
            for number in 0..<UInt64(count) {
                var generator = ValueGenerator(traits: traits, seed: seed &+ number)
                let value = generator.value()
                let written = try first.transcode(first.write(value), to: second)
                let expected = second.traits.expectation(of: first.traits.expectation(of: value))
                let read = try second.read(written)
                try require(read == expected, "seed \(seed &+ number): wrote \(value), read \(read)")
            }
        }
    }
}
