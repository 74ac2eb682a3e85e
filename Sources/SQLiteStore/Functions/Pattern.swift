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

    /// Nil where it is no pattern of this kind, or too large.
    static func compiled(_ text: String) -> Pattern? {
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
    var ranges: [ClosedRange<UInt32>]
    var isNegated = false

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        ranges.contains { $0.contains(scalar.value) } != isNegated
    }
}

extension Pattern {
    /// Whether it is found anywhere in the text.
    func matches(_ text: String) -> Bool {
        let scalars = Array(text.unicodeScalars)
        var current = States(program.count)
        var next = States(program.count)
        for position in 0...scalars.count {
            if add(0, to: &current, scalars, position) { return true }
            guard position < scalars.count else { return false }
            next.removeAll()
            for state in current.members {
                guard case .one(let set) = program[state], set.contains(scalars[position]) else { continue }
                if add(state + 1, to: &next, scalars, position + 1) { return true }
            }
            swap(&current, &next)
        }
        return false
    }

    /// Adds a state and those that are reached from it without a character; returns whether one of them is the end.
    private func add(_ first: Int, to states: inout States, _ text: [Unicode.Scalar], _ position: Int) -> Bool {
        var open = [first]
        while let state = open.popLast() {
            guard states.insert(state) else { continue }
            switch program[state] {
            case .one: break
            case .match: return true
            case .jump(let target): open.append(target)
            case .split(let left, let right): open += [left, right]
            case .assertion(let assertion): if assertion.holds(in: text, at: position) { open.append(state + 1) }
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
    func holds(in text: [Unicode.Scalar], at position: Int) -> Bool {
        switch self {
        case .start: return position == 0
        case .end: return position == text.count
        case .boundary, .noBoundary:
            let before = position > 0 && CharacterSet.word.contains(text[position - 1])
            let after = position < text.count && CharacterSet.word.contains(text[position])
            return (before != after) == (self == .boundary)
        }
    }
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
