import AdapterKit
import WireFormats

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
