/// Reads a pattern's text into a tree.
struct PatternParser {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var depth = 0

    /// Groups within each other at most.
    static let maximumDepth = 64
    static let maximumRepetitions = 1000

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    mutating func parse() -> PatternNode? {
        guard let node = alternatives(), position == scalars.count else { return nil }
        return node
    }

    private var peek: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        position += 1
        return true
    }

    private mutating func alternatives() -> PatternNode? {
        guard let first = sequence() else { return nil }
        var all = [first]
        while take("|") {
            guard let next = sequence() else { return nil }
            all.append(next)
        }
        return all.count == 1 ? all[0] : .either(all)
    }

    private mutating func sequence() -> PatternNode? {
        var parts: [PatternNode] = []
        while let next = peek, next != "|", next != ")" {
            guard let part = repeated() else { return nil }
            parts.append(part)
        }
        return .sequence(parts)
    }

    private mutating func repeated() -> PatternNode? {
        guard let atom = atom() else { return nil }
        guard let (least, most) = quantifier() else { return atom }
        guard most.map({ $0 >= least }) ?? true, max(least, most ?? 0) <= Self.maximumRepetitions else { return nil }
        _ = take("?")
        guard quantifier() == nil else { return nil }
        return .repeated(atom, least, most)
    }

    /// The least and the largest number of repetitions; no end: nil.
    private mutating func quantifier() -> (Int, Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        let start = position
        guard take("{"), let least = number() else {
            position = start
            return nil
        }
        var most: Int? = least
        if take(",") { most = number() }
        guard take("}") else {
            position = start
            return nil
        }
        return (least, most)
    }

    private mutating func number() -> Int? {
        let start = position
        while let next = peek, ("0"..."9").contains(next), position - start < 5 { position += 1 }
        return Int(String(String.UnicodeScalarView(scalars[start..<position])))
    }

    private mutating func atom() -> PatternNode? {
        guard let next = peek else { return nil }
        position += 1
        switch next {
        case "(": return group()
        case "[": return characterClass().map { .one($0) }
        case ".": return .one(.anyButLineEnds)
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case "\\": return escape()
        case "*", "+", "?": return nil
        default: return .one(CharacterSet(next))
        }
    }

    private mutating func group() -> PatternNode? {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { return nil }
        if take("?"), !take(":") { return nil }
        guard let inner = alternatives(), take(")") else { return nil }
        return inner
    }

    private mutating func escape() -> PatternNode? {
        if take("b") { return .assertion(.boundary) }
        if take("B") { return .assertion(.noBoundary) }
        return escapedSet().map { .one($0) }
    }

    private mutating func escapedSet() -> CharacterSet? {
        guard let next = peek else { return nil }
        position += 1
        switch next {
        case "d": return .digit
        case "D": return .digit.inverted
        case "w": return .word
        case "W": return .word.inverted
        case "s": return .space
        case "S": return .space.inverted
        case "n": return CharacterSet("\n")
        case "r": return CharacterSet("\r")
        case "t": return CharacterSet("\t")
        case "u": return hexadecimal(4)
        case "x": return hexadecimal(2)
        case "0"..."9", "a"..."z", "A"..."Z": return nil
        default: return CharacterSet(next)
        }
    }

    private mutating func hexadecimal(_ count: Int) -> CharacterSet? {
        guard position + count <= scalars.count else { return nil }
        let text = String(String.UnicodeScalarView(scalars[position..<(position + count)]))
        position += count
        return UInt32(text, radix: 16).flatMap { Unicode.Scalar($0) }.map { CharacterSet($0) }
    }

    private mutating func characterClass() -> CharacterSet? {
        let isNegated = take("^")
        var ranges: [ClosedRange<UInt32>] = []
        while let next = peek, next != "]" {
            guard let first = member() else { return nil }
            guard first.isSingle, peek == "-", position + 1 < scalars.count, scalars[position + 1] != "]" else {
                ranges += first.allRanges
                continue
            }
            position += 1
            guard let last = member(), last.isSingle, first.ranges[0].lowerBound <= last.ranges[0].lowerBound else {
                return nil
            }
            ranges.append(first.ranges[0].lowerBound...last.ranges[0].lowerBound)
        }
        return take("]") ? CharacterSet(ranges: ranges, isNegated: isNegated) : nil
    }

    private mutating func member() -> CharacterSet? {
        guard let next = peek else { return nil }
        position += 1
        guard next == "\\" else { return CharacterSet(next) }
        return take("b") ? CharacterSet("\u{8}") : escapedSet()
    }
}

extension CharacterSet {
    init(_ scalar: Unicode.Scalar) { self.init(ranges: [scalar.value...scalar.value]) }

    var isSingle: Bool { !isNegated && ranges.count == 1 && ranges[0].count == 1 }
    var inverted: CharacterSet { CharacterSet(ranges: ranges, isNegated: !isNegated) }

    /// Without a negation, as a class takes it in.
    var allRanges: [ClosedRange<UInt32>] {
        guard isNegated else { return ranges }
        var result: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges {
            if range.lowerBound > next { result.append(next...(range.lowerBound - 1)) }
            next = max(next, range.upperBound + 1)
        }
        return result + [next...0x10FFFF]
    }

    static let digit = CharacterSet(ranges: [0x30...0x39])
    static let word = CharacterSet(ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let space = CharacterSet(ranges: [
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
    static let anyButLineEnds = CharacterSet(ranges: [0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029], isNegated: true)
}
