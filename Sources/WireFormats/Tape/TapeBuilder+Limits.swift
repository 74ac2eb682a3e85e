/// What a document may spend, and the errors for more.
extension TapeBuilder {
    public func failure(_ kind: WireFormatError.Kind, _ message: String, at offset: Int) -> WireFormatError {
        let place =
            positions == .text
            ? WireFormatError.Position(offset: offset, in: input) : WireFormatError.Position(offset: offset)
        return WireFormatError(kind, message, at: place)
    }

    @inline(__always)
    mutating func countValue(at offset: Int) throws(WireFormatError) {
        current.members &+= 1
        if tokens.count >= valueLimit { throw tooManyValues(at: offset) }
    }

    func tooManyValues(at offset: Int) -> WireFormatError {
        exceeded("values", limits.values, at: offset)
    }

    @inline(__always)
    mutating func countBytes(_ count: Int, at offset: Int) throws(WireFormatError) {
        remainingBytes &-= count
        if remainingBytes < 0 { throw tooManyBytes(at: offset) }
    }

    func tooManyBytes(at offset: Int) -> WireFormatError {
        exceeded("expanded bytes", limits.expandedBytes, at: offset)
    }

    func exceeded(_ what: String, _ limit: Int, at offset: Int) -> WireFormatError {
        failure(.limitExceeded, "the document exceeds the limit of \(limit) (\(what))", at: offset)
    }
}
