import Synchronization

/// A regular expression, matched in time proportional to the text: states go side by side (Thompson's construction), so
/// no pattern can make a search explode, as backtracking would.
///
/// Of ECMAScript's: alternatives, groups, `* + ? {n,m}` (greedy or not), classes, `. ^ $ \d \w \s \b` and their
/// opposites, escapes of characters. Not: back references and looking around, which need backtracking.
struct Pattern: Sendable {
    let program: [Instruction]

    enum Instruction: Sendable, Equatable {
        case one(CharacterSet)
        /// Goes on at both places.
        case split(Int, Int)
        case jump(Int)
        case assertion(Assertion)
        case match
    }

    enum Assertion: Sendable, Equatable { case start, end, boundary, noBoundary }

    /// Instructions at most; counted repetitions are written out.
    static let maximumSize = 4096
    /// Bytes of a pattern's text at most.
    static let maximumBytes = 4096

    /// Nil where it is no pattern of this kind, or too large.
    static func compiled(_ text: String) -> Pattern? {
        guard text.utf8.count <= maximumBytes else { return nil }
        if let known = cache.withLock({ $0[text] }) { return known }
        var parser = PatternParser(text)
        guard let node = parser.parse(), let program = PatternProgram.make(node) else { return nil }
        let pattern = Pattern(program: program)
        cache.withLock { cache in
            if cache.count >= cacheSize { cache.removeAll() }
            cache[text] = pattern
        }
        return pattern
    }

    private static let cache = Mutex<[String: Pattern]>([:])
    private static let cacheSize = 64
}

/// Which characters stand at one place.
struct CharacterSet: Sendable, Equatable {
    /// In order, and none touches another, however often a class names a character.
    let ranges: [ClosedRange<UInt32>]
    var isNegated = false

    init(ranges: [ClosedRange<UInt32>], isNegated: Bool = false) {
        self.ranges = Self.merged(ranges)
        self.isNegated = isNegated
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < scalar.value { low = middle + 1 } else { high = middle }
        }
        return (low < ranges.count && ranges[low].contains(scalar.value)) != isNegated
    }

    private static func merged(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        guard ranges.count > 1 else { return ranges }
        var result: [ClosedRange<UInt32>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            // Cannot trap: characters end at 0x10FFFF.
            if let last = result.last, range.lowerBound <= last.upperBound + 1 {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}

extension Pattern {
    /// A place between two characters of a text; nil: its beginning, its end.
    fileprivate struct Place {
        let before: Unicode.Scalar?
        let after: Unicode.Scalar?
    }

    /// The cost of looking at one state, in bytes that are looked at once.
    private static let costOfState = 4

    /// Whether it is found anywhere in the text. Each character costs as much as there are states that it may be in, which
    /// `spend` gets to know; what it throws ends the search.
    func matches(_ text: String, spend: (Int) throws -> Void) rethrows -> Bool {
        var current = States(program.count)
        var next = States(program.count)
        var characters = text.unicodeScalars.makeIterator()
        var place = Place(before: nil, after: characters.next())
        while true {
            if add(0, to: &current, at: place) { return true }
            try spend(Self.costOfState * current.members.count)
            guard let character = place.after else { return false }
            place = Place(before: character, after: characters.next())
            next.removeAll()
            for state in current.members {
                guard case .one(let set) = program[state], set.contains(character) else { continue }
                if add(state + 1, to: &next, at: place) { return true }
            }
            swap(&current, &next)
        }
    }

    /// The same of a short text.
    func matches(_ text: String) -> Bool { matches(text) { _ in } }

    /// Adds a state and those that are reached from it without a character; returns whether one of them is the end.
    private func add(_ first: Int, to states: inout States, at place: Place) -> Bool {
        var open = [first]
        while let state = open.popLast() {
            guard states.insert(state) else { continue }
            switch program[state] {
            case .one: break
            case .match: return true
            case .jump(let target): open.append(target)
            case .split(let left, let right): open += [left, right]
            case .assertion(let assertion): if assertion.holds(at: place) { open.append(state + 1) }
            }
        }
        return false
    }

    private struct States {
        private(set) var members: [Int] = []
        private var isMember: [Bool]

        init(_ count: Int) { isMember = [Bool](repeating: false, count: count) }

        mutating func insert(_ state: Int) -> Bool {
            if isMember[state] { return false }
            isMember[state] = true
            members.append(state)
            return true
        }

        mutating func removeAll() {
            for state in members { isMember[state] = false }
            members.removeAll(keepingCapacity: true)
        }
    }
}

extension Pattern.Assertion {
    fileprivate func holds(at place: Pattern.Place) -> Bool {
        switch self {
        case .start: place.before == nil
        case .end: place.after == nil
        case .boundary, .noBoundary:
            (place.before.isWord != place.after.isWord) == (self == .boundary)
        }
    }
}

extension Unicode.Scalar? {
    fileprivate var isWord: Bool { map { CharacterSet.word.contains($0) } ?? false }
}

/// A pattern as it was read.
indirect enum PatternNode {
    case one(CharacterSet)
    case assertion(Pattern.Assertion)
    case sequence([PatternNode])
    case either([PatternNode])
    /// At least so often, at most so often; nil: without end.
    case repeated(PatternNode, Int, Int?)
}

/// Writes a pattern's instructions.
struct PatternProgram {
    private var program: [Pattern.Instruction] = []
    private var isTooLarge = false

    /// Nil beyond ``Pattern/maximumSize``.
    static func make(_ node: PatternNode) -> [Pattern.Instruction]? {
        var writer = PatternProgram()
        writer.write(node)
        writer.emit(.match)
        return writer.isTooLarge ? nil : writer.program
    }

    private mutating func emit(_ instruction: Pattern.Instruction) {
        if program.count >= Pattern.maximumSize { isTooLarge = true } else { program.append(instruction) }
    }

    private mutating func write(_ node: PatternNode) {
        guard !isTooLarge else { return }
        switch node {
        case .one(let set): emit(.one(set))
        case .assertion(let assertion): emit(.assertion(assertion))
        case .sequence(let parts): for part in parts { write(part) }
        case .either(let parts): write(either: parts[...])
        case .repeated(let inner, let least, let most): write(inner, least, most)
        }
    }

    private mutating func write(either parts: ArraySlice<PatternNode>) {
        guard let first = parts.first else { return }
        guard parts.count > 1 else { return write(first) }
        let split = program.count
        emit(.split(split + 1, split + 1))
        write(first)
        let jump = program.count
        emit(.jump(jump))
        set(split, .split(split + 1, program.count))
        write(either: parts.dropFirst())
        set(jump, .jump(program.count))
    }

    private mutating func write(_ inner: PatternNode, _ least: Int, _ most: Int?) {
        for _ in 0..<least where !isTooLarge { write(inner) }
        guard let most else { return write(anyNumberOf: inner) }
        var splits: [Int] = []
        for _ in least..<most where !isTooLarge {
            splits.append(program.count)
            emit(.split(program.count + 1, program.count + 1))
            write(inner)
        }
        for split in splits { set(split, .split(split + 1, program.count)) }
    }

    private mutating func write(anyNumberOf inner: PatternNode) {
        let split = program.count
        emit(.split(split + 1, split + 1))
        write(inner)
        emit(.jump(split))
        set(split, .split(split + 1, program.count))
    }

    private mutating func set(_ place: Int, _ instruction: Pattern.Instruction) {
        if program.indices.contains(place) { program[place] = instruction }
    }
}
