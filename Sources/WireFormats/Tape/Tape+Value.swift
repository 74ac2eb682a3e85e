import ValueTree

extension Tape {
    /// The tree of the whole document. Depth is bounded by the limits it was read with.
    public func value() -> WireValue { value(at: 0) }

    /// The tree of the value that starts at `position`.
    public func value(at position: Int) -> WireValue {
        input.withUnsafeBufferPointer { input in
            tokens.withUnsafeBufferPointer { tokens in
                var builder = TreeBuilder(tape: self, tokens: tokens, input: input, position: position)
                return builder.takeValue()
            }
        }
    }

    func scalar(_ token: TapeToken) -> WireValue {
        switch token.kind {
        case .decimal: .decimal(decimal(of: token))
        case .string: .string(string(of: token))
        case .data: .data(data(of: token))
        default: Self.number(token)
        }
    }

    /// The value of a token that needs no bytes.
    static func number(_ token: TapeToken) -> WireValue {
        switch token.kind {
        case .null: .null
        case .false: .bool(false)
        case .true: .bool(true)
        case .int64: .int64(token.int64)
        case .uint64: .uint64(token.uint64)
        case .double: .double(token.double)
        case .date: .date(WireDate(secondsSinceReferenceDate: token.double))
        case .uid: .uid(token.uint64)
        default: preconditionFailure("not a number")
        }
    }

    /// A decimal token's number; readers put only numbers on the tape that ``WireDecimal`` takes.
    public func decimal(of token: TapeToken) -> WireDecimal {
        guard let number = WireDecimal(string(of: token)) else { preconditionFailure("not a decimal on the tape") }
        return number
    }

    public func data(of token: TapeToken) -> [UInt8] {
        let range = token.offset..<token.offset + token.length
        return [UInt8](token.storage == .side ? side[range] : input[range])
    }
}
