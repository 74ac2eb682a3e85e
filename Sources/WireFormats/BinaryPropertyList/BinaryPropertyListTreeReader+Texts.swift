import ValueTree

/// Strings, data and the keys of dictionaries.
extension BinaryPropertyListTreeReader {
    /// The keys of a dictionary; those of the one before where the references are the same, as in a list of records.
    mutating func names(of token: TapeToken, _ bytes: Span<UInt8>) throws(WireFormatError) -> DictionaryShape {
        let size = token.length * layout.referenceSize
        if shape.keys.count == token.length, shape.hasSameReferences(token.offset, size, input) {
            tokens += token.length
            expandedBytes += shape.expandedBytes
            return shape
        }
        let before = expandedBytes
        var keys: [String] = []
        keys.reserveCapacity(token.length)
        for position in stride(from: token.offset, to: token.offset + size, by: layout.referenceSize) {
            keys.append(try key(at: position, bytes))
        }
        let isDistinct = DictionaryShape.areDistinct(keys)
        guard isDistinct || limits.duplicateKeys == .keepLast else {
            throw failure(.duplicateKey, "a key occurs twice in one dictionary", token)
        }
        shape = DictionaryShape(
            keys: keys, areDistinct: isDistinct, expandedBytes: expandedBytes - before, references: token.offset)
        return shape
    }

    private mutating func key(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> String {
        let object = try layout.reference(at: position, bytes)
        let token = try layout.object(object, bytes)
        guard token.kind == .string else {
            throw BinaryPropertyListLayout.malformed("a key that is not a string", at: position)
        }
        try count(token)
        guard case .string(let text) = bytesValue(object, token) else { preconditionFailure("a key is a string") }
        return text
    }

    mutating func bytesValue(_ object: Int, _ token: TapeToken) -> WireValue {
        guard marks[object].contains(.isMet) else {
            marks[object].insert(.isMet)
            return make(token)
        }
        if made.isEmpty { made = Array(repeating: nil, count: layout.objectCount) }
        if let known = made[object] { return known }
        let value = make(token)
        made[object] = value
        return value
    }

    @inline(__always)
    private func make(_ token: TapeToken) -> WireValue {
        input.withUnsafeBufferPointer { input in
            let bytes = UnsafeBufferPointer(rebasing: input[token.offset..<token.offset + token.length])
            if token.storage == .utf16 { return .string(UTF16Text.string(bytes)) }
            return token.kind == .data ? .data([UInt8](bytes)) : .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
