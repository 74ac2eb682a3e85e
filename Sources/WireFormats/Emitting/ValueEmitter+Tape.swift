import ValueTree

extension ValueEmitter {
    /// Writes a whole document from its tape, without recursion and without Strings. An error names the token.
    mutating func write(
        _ tape: Tape, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        try write(tape, 0..<tape.tokens.count, depth: depth, options: options, to: &output)
    }

    /// The same for one value, whose tokens these are.
    mutating func write(
        _ tape: Tape, _ tokens: Range<Int>, depth: Int, options: WritingOptions, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        var position = tokens.lowerBound
        do throws(WireFormatError) {
            try write(tape, &position, until: tokens.upperBound, depth: depth, options: options, to: &output)
        } catch {
            throw WireFormatError(error.kind, error.message, at: error.position, token: position - 1)
        }
    }

    @inline(__always)
    private mutating func write(
        _ tape: Tape, _ position: inout Int, until limit: Int, depth: Int, options: WritingOptions,
        to output: inout OutputBuffer
    ) throws(WireFormatError) {
        let omitsNulls = !Self.carriesNull && options.nulls == .omitMember
        var open: [ContainerKind] = []
        while position < limit {
            let token = tape.tokens[position]
            position += 1
            switch token.kind {
            case .key:
                if omitsNulls, tape.tokens[position].kind == .null {
                    position += 1
                } else {
                    try tape.withBytes(of: token) { text throws(WireFormatError) in try key(text, to: &output) }
                }
            case .array, .dictionary:
                guard depth + open.count < options.depth else { throw .tooDeep(options.depth) }
                open.append(token.kind == .array ? .array : .dictionary)
                try begin(open[open.count - 1], count: token.memberCount, to: &output)
            case .end: try end(open.removeLast(), to: &output)
            default: try write(token, of: tape, to: &output)
            }
        }
    }

    private mutating func write(
        _ token: TapeToken, of tape: Tape, to output: inout OutputBuffer
    ) throws(WireFormatError) {
        switch token.kind {
        case .null: try null(to: &output)
        case .false: try bool(false, to: &output)
        case .true: try bool(true, to: &output)
        case .int64: try int64(token.int64, to: &output)
        case .uint64: try uint64(token.uint64, to: &output)
        case .double: try double(token.double, to: &output)
        case .decimal: try decimal(tape.decimal(of: token), to: &output)
        case .string: try tape.withBytes(of: token) { text throws(WireFormatError) in try string(text, to: &output) }
        case .data: try tape.withBytes(of: token) { bytes throws(WireFormatError) in try data(bytes, to: &output) }
        case .date: try date(WireDate(secondsSinceReferenceDate: token.double), to: &output)
        case .uid: try uid(token.uint64, to: &output)
        case .array, .dictionary, .key, .end: preconditionFailure("not a scalar")
        }
    }
}
