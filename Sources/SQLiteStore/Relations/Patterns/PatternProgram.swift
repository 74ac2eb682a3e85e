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
