import AdapterKit
import WireFormats

/// What every wire format must hold, as named checks. A format's tests run all of them:
///
///     @Test(arguments: WireFormatConformance(MyFormat()).checks)
///     func `the format conforms`(check: ConformanceCheck) throws { try check.run() }
public struct WireFormatConformance: Sendable {
    let format: any WireFormat
    let seed: UInt64
    /// How many values are generated for a check.
    let count: Int

    public init(_ format: any WireFormat, seed: UInt64 = 1, count: Int = 300) {
        (self.format, self.seed, self.count) = (format, seed, count)
    }

    public var checks: [ConformanceCheck] {
        valueChecks + limits + hostileInput + roundTrips
    }

    func check(_ name: String, _ body: @escaping @Sendable () throws -> Void) -> ConformanceCheck {
        ConformanceCheck(name: "\(format.name): \(name)", run: body)
    }
}

public struct ConformanceCheck: Sendable, CustomStringConvertible {
    public let name: String
    /// Throws ``ConformanceViolation`` where the format breaks the rule.
    public let run: @Sendable () throws -> Void

    public var description: String { name }
}

public struct ConformanceViolation: Error, CustomStringConvertible {
    public let description: String
}

func require(_ condition: Bool, _ message: @autoclosure () -> String) throws(ConformanceViolation) {
    guard condition else { throw ConformanceViolation(description: message()) }
}

extension WireFormatConformance {
    /// Writing and reading gives the expectation: from the tree, from the tape and from a stream of pieces.
    func requireRoundTrip(_ value: WireValue, _ options: WritingOptions = WritingOptions()) throws {
        let expected = format.traits.expectation(of: value)
        let bytes = try format.write(value, options: options)
        let read = try format.read(bytes)
        try require(read == expected, "wrote \(value), read \(read)")
        let tape = try format.readTape(bytes, limits: ReadingLimits())
        try require(tape.value() == expected, "the tape of \(value) gives \(tape.value())")
        try require(try format.read(format.write(tape)) == expected, "the rewritten tape of \(value) reads differently")
        try require(try format.read(streamed(value)) == expected, "the stream of \(value) reads differently")
    }

    func streamed(_ value: WireValue) throws -> [UInt8] {
        let writer = format.makeStreamWriter(options: WritingOptions())
        var bytes: [UInt8] = []
        try stream(value, to: writer) { bytes += writer.drain() }
        try writer.finish()
        return bytes + writer.drain()
    }

    private func stream(_ value: WireValue, to writer: any StreamWriter, _ drain: () -> Void) throws {
        switch value {
        case .array(let items):
            try writer.begin(.array)
            for item in items { try stream(item, to: writer, drain) }
            try writer.end()
        case .dictionary(let members):
            try writer.begin(.dictionary)
            for member in members {
                try writer.key(member.key)
                try stream(member.value, to: writer, drain)
            }
            try writer.end()
        default: try writer.write(value)
        }
        drain()
    }

    func requireError(
        _ kinds: Set<WireFormatError.Kind>, _ what: String, _ body: () throws -> Void
    ) throws {
        do { try body() } catch let error as WireFormatError {
            return try require(kinds.contains(error.kind), "\(what): \(error.kind) (\(error))")
        }
        throw ConformanceViolation(description: "\(what): no error")
    }
}

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

extension WireFormatConformance {
    /// A reader may accept or refuse what comes here. It must not crash, must name a position, and its tree and its tape
    /// must agree.
    var hostileInput: [ConformanceCheck] {
        [
            check("truncated documents are refused", truncations),
            check("flipped bits never break it", bitFlips),
            check("random bytes never break it", randomBytes),
            check("spliced documents never break it", splices),
        ]
    }

    private var sample: WireValue {
        [
            "text": "aé\n😀", "numbers": [0, -1, .double(0.5), .uint64(.max)], "empty": [[], [:]], "flag": true,
            "data": .data([1, 2, 3]), "date": .date(WireDate(secondsSinceReferenceDate: 60)),
        ]
    }

    private func truncations() throws {
        let whole = try format.write(sample)
        for count in 0..<whole.count {
            try probe(Array(whole.prefix(count)))
            let read = try? format.read(Array(whole.prefix(count)))
            // White space behind the last token may be cut off.
            try require(
                read == nil || whole[count...].allSatisfy { $0 <= 0x20 }, "\(count) of \(whole.count) bytes are read")
        }
    }

    private func bitFlips() throws {
        let whole = try format.write(sample)
        for bit in 0..<whole.count * 8 {
            var flipped = whole
            flipped[bit / 8] ^= 1 << (bit % 8)
            try probe(flipped)
        }
    }

    private func randomBytes() throws {
        var random = SeededRandom(seed: seed)
        let start = try format.write(sample).prefix(12)
        for length in 0..<count {
            let noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            try probe(noise)
            try probe(start + noise)
        }
    }

    private func splices() throws {
        var random = SeededRandom(seed: seed)
        var generator = ValueGenerator(traits: format.traits, seed: seed)
        var previous = try format.write(sample)
        for _ in 0..<count {
            let next = try format.write(generator.value())
            let cut = Int.random(in: 0...previous.count, using: &random)
            let join = Int.random(in: 0...next.count, using: &random)
            try probe(Array(previous[..<cut] + next[join...]))
            previous = next
        }
    }

    private func probe(_ bytes: [UInt8]) throws {
        let limits = ReadingLimits(depth: 64, values: 20_000, expandedBytes: 1 << 20)
        let tree = try outcome { try format.read(bytes, limits: limits) }
        let tape = try outcome { try format.readTape(bytes, limits: limits).value() }
        try require(tree == tape, "tree and tape differ on \(bytes)")
    }

    /// Nil for an error with a position.
    private func outcome(_ body: () throws -> WireValue) throws -> WireValue? {
        do { return try body() } catch let error as WireFormatError {
            try require(error.position != nil, "an error without a position: \(error)")
            return nil
        }
    }
}

extension FormatTraits {
    /// What comes back of a value that was written: data, dates and decimals as text where the format has no type for
    /// them.
    public func expectation(of value: WireValue) -> WireValue {
        switch value {
        case .data(let bytes) where !data: .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
        case .date(let instant) where date == .text: .string(instant.rfc3339 ?? "")
        case .decimal(let number) where decimal == .text: number.narrowed ?? .string(number.description)
        case .array(let items): .array(items.map(expectation(of:)))
        case .dictionary(let members):
            .dictionary(
                WireDictionary(
                    uncheckedUniqueKeys: members.map { .init(key: $0.key, value: expectation(of: $0.value)) }))
        default: value
        }
    }

    /// What both formats carry.
    public func intersection(_ other: FormatTraits) -> FormatTraits {
        func strictness(_ support: DateSupport) -> Int {
            switch support {
            case .exact: 0
            case .text: 1
            case .double: 2
            case .wholeSeconds: 3
            }
        }
        let decimals = [decimal, other.decimal]
        return FormatTraits(
            null: null && other.null,
            decimal: decimals.contains(.none) ? .none : decimals.contains(.text) ? .text : .exact,
            nonFinite: nonFinite && other.nonFinite,
            data: data && other.data, date: strictness(date) > strictness(other.date) ? date : other.date,
            uid: uid && other.uid, allScalars: allScalars && other.allScalars)
    }
}
