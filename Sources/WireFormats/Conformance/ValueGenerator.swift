import AdapterKit
import WireFormats

/// Generates values that formats of the given traits carry, with a liking for the edges: boundary integers, denormal
/// doubles, strings around the lengths where encodings change their form, keys that differ in normalisation only.
public struct ValueGenerator {
    let traits: FormatTraits
    var random: SeededRandom
    private var budget = 0

    public init(traits: FormatTraits, seed: UInt64) {
        self.traits = traits
        random = SeededRandom(seed: seed)
    }

    /// A value of at most `size` nodes.
    public mutating func value(size: Int = 60) -> WireValue {
        budget = size
        return node(depth: 0)
    }

    private mutating func node(depth: Int) -> WireValue {
        budget -= 1
        let mayNest = depth < 8 && budget > 0
        switch Int.random(in: 0..<(mayNest ? 16 : 10), using: &random) {
        case 0: return .bool(Bool.random(using: &random))
        case 1, 2: return integer()
        case 3: return .double(double())
        case 4: return .data(data())
        case 5: return date()
        case 6: return rare()
        case 7...9: return .string(string())
        case 10...12: return array(depth)
        default: return dictionary(depth)
        }
    }

    private mutating func array(_ depth: Int) -> WireValue {
        let count = Int.random(in: 0...min(6, max(0, budget)), using: &random)
        return .array((0..<count).map { _ in node(depth: depth + 1) })
    }

    private mutating func dictionary(_ depth: Int) -> WireValue {
        var members = WireDictionary()
        let isLarge = Int.random(in: 0..<20, using: &random) == 0
        for _ in 0..<Int.random(in: 0...min(isLarge ? 40 : 6, max(0, budget)), using: &random) {
            let key = string()
            let value = node(depth: depth + 1)
            members.insert(value, forKey: key)
        }
        return .dictionary(members)
    }

    /// Null, decimals and uids, where they are carried.
    private mutating func rare() -> WireValue {
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where traits.null: .null
        case 1 where traits.decimal != .none: decimal()
        case 2 where traits.uid: .uid(random.next() >> UInt64.random(in: 0..<64, using: &random))
        default: .string("$null")
        }
    }
}

extension ValueGenerator {
    private mutating func integer() -> WireValue {
        let bits = random.next() >> UInt64.random(in: 0..<64, using: &random)
        let edges: [Int64] = [0, -1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, .max, .min]
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .int64(edges.randomElement(using: &random)!)
        case 1: return bits > UInt64(Int64.max) ? .uint64(bits) : .int64(Int64(bits))
        default: return .int64(Int64(bitPattern: bits))
        }
    }

    public mutating func double() -> Double {
        let edges: [Double] = [
            0, -0.0, 1, 0.1, .pi, 1e22, 1e23, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude, .leastNormalMagnitude, 9_007_199_254_740_994, .infinity, -.infinity, .nan,
        ]
        let number =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: edges.randomElement(using: &random)!
            case 1: Double(Int64(bitPattern: random.next()) >> 40) / 1000
            default: Double(bitPattern: random.next())
            }
        if number.isNaN { return traits.nonFinite ? .nan : 0.5 }
        return number.isFinite || traits.nonFinite ? number : 1.5
    }

    private mutating func decimal() -> WireValue {
        let digits = (0..<Int.random(in: 25...60, using: &random)).map { _ in Int.random(in: 1...9, using: &random) }
        let text = digits.map(String.init).joined()
        let isInteger = traits.decimal == .exact && Bool.random(using: &random)
        let point = isInteger ? text : "\(text.prefix(7)).\(text.dropFirst(7))"
        return .decimal(WireDecimal(Bool.random(using: &random) ? point : "-\(point)")!)
    }

    private mutating func data() -> [UInt8] {
        let count = [0, 1, 2, 3, 14, 15, 16, 100, 255, 256].randomElement(using: &random)!
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private mutating func date() -> WireValue {
        let whole = Int64.random(in: -63_000_000_000...252_000_000_000, using: &random)
        let double = Double.random(in: -6e10...2e11, using: &random)
        switch traits.date {
        case .wholeSeconds: return .date(WireDate(secondsSinceReferenceDate: Double(whole)))
        case .double: return .date(WireDate(secondsSinceReferenceDate: double))
        case .text, .exact:
            let step = Int64.random(in: 0..<WireDate.ticksPerSecond, using: &random)
            let rest = Int64.random(in: 0..<WireDate.attosecondsPerTick, using: &random)
            return .date(WireDate(ticks: whole * WireDate.ticksPerSecond + step, attosecondsBeyond: rest))
        }
    }
}

extension ValueGenerator {
    private static let texts = [
        "", " ", "  a  ", "a", "é", "e\u{301}", "😀", "\u{10FFFD}", "]]>", "<a b=\"c\">&amp;</a>", "\"\\/", "$null",
        "@a",
        "$", "\t\n\r\r\n", "\u{7F}\u{85}\u{2028}\u{FEFF}", "true", "1", "2001-01-01T00:00:00Z", "日本語", "\u{E000}", "ß",
    ]
    /// What XML 1.0 has no place for.
    private static let controls = ["\0", "\u{1}\u{8}\u{B}\u{C}\u{1F}", "\u{FFFE}", "\u{FFFF}"]

    mutating func string() -> String {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: return Self.texts.randomElement(using: &random)!
        case 1 where traits.allScalars: return Self.controls.randomElement(using: &random)!
        case 2: return ascii([0, 1, 7, 8, 14, 15, 16, 17, 255, 256].randomElement(using: &random)!)
        case 3: return scalars(Int.random(in: 1...20, using: &random))
        default: return ascii(Int.random(in: 1...12, using: &random))
        }
    }

    private mutating func ascii(_ count: Int) -> String {
        let bytes = (0..<count).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func scalars(_ count: Int) -> String {
        var text = String.UnicodeScalarView()
        while text.count < count {
            let bound = [0x7F, 0x7FF, 0xFFFD, 0x10FFFF].randomElement(using: &random)!
            if let scalar = Unicode.Scalar(UInt32.random(in: 0x20...UInt32(bound), using: &random)) {
                text.append(scalar)
            }
        }
        return String(text)
    }
}
