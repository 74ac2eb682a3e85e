import ValueTree

/// Reads a binary property list straight into a tree. Strings and data that the document shares are made once and
/// shared by the tree too; the limits count them each time all the same, as on the tape.
struct BinaryPropertyListTreeReader: ~Copyable {
    private var objects: BinaryPropertyListObjects
    /// Strings and data by object; empty until one is met again, for most are met once.
    private var made: [WireValue?] = []
    private var isMet: [Bool]
    private var keys = KeySet()
    private var shape = DictionaryShape()
    private let input: [UInt8]
    private let limits: ReadingLimits
    private var tokens = 0
    private var expandedBytes = 0
    private var depth = 0

    init(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) {
        let layout = try BinaryPropertyListLayout(input.span)
        objects = BinaryPropertyListObjects(layout)
        isMet = Array(repeating: false, count: layout.objectCount)
        (self.input, self.limits) = (input, limits)
    }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) -> WireValue {
        try value(objects.layout.topObject, bytes)
    }

    private mutating func value(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> WireValue {
        let token = try objects.token(object, bytes)
        try count(1, token)
        switch token.kind {
        case .array: return .array(try items(object, token, bytes))
        case .dictionary: return .dictionary(try members(object, token, bytes))
        case .string, .data: return bytesValue(object, token)
        default: return Tape.number(token)
        }
    }

    private mutating func items(
        _ object: Int, _ token: TapeToken, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> [WireValue] {
        try enter(object, token)
        var items: [WireValue] = []
        items.reserveCapacity(token.length)
        for index in 0..<token.length {
            let position = token.offset + index * objects.layout.referenceSize
            items.append(try value(try objects.layout.reference(at: position, bytes), bytes))
        }
        try leave(object, token)
        return items
    }

    private mutating func members(
        _ object: Int, _ token: TapeToken, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> WireDictionary {
        try enter(object, token)
        let width = objects.layout.referenceSize
        let names = try names(of: token, bytes)
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(token.length)
        var position = token.offset + token.length * width
        for name in names.keys {
            let member = try value(try objects.layout.reference(at: position, bytes), bytes)
            entries.append(.init(key: name, value: member))
            position += width
        }
        try leave(object, token)
        return names.areDistinct ? WireDictionary(uncheckedUniqueKeys: entries) : Self.keepingLast(entries)
    }

    /// The keys of a dictionary; those of the one before where the references are the same, as in a list of records.
    private mutating func names(
        of token: TapeToken, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> DictionaryShape {
        let size = token.length * objects.layout.referenceSize
        if shape.keys.count == token.length, shape.hasSameReferences(token.offset, size, input) {
            tokens += token.length
            expandedBytes += shape.expandedBytes
            return shape
        }
        let before = expandedBytes
        var keys: [String] = []
        keys.reserveCapacity(token.length)
        for position in stride(from: token.offset, to: token.offset + size, by: objects.layout.referenceSize) {
            keys.append(try key(at: position, bytes))
        }
        let isDistinct = token.length < 2 || areDistinct(token, bytes)
        guard isDistinct || limits.duplicateKeys == .keepLast else {
            throw failure(.duplicateKey, "a key occurs twice in one dictionary", token)
        }
        shape = DictionaryShape(
            keys: keys, areDistinct: isDistinct, expandedBytes: expandedBytes - before, references: token.offset)
        return shape
    }

    private mutating func areDistinct(_ token: TapeToken, _ bytes: Span<UInt8>) -> Bool {
        keys.removeAll()
        for index in 0..<token.length {
            let position = token.offset + index * objects.layout.referenceSize
            if let key = try? objects.key(at: position, bytes) { keys.append(key) }
        }
        return keys.areDistinct(input: input, side: [])
    }

    private static func keepingLast(_ entries: [WireDictionary.Entry]) -> WireDictionary {
        var members = WireDictionary()
        for entry in entries { members[entry.key] = entry.value }
        return members
    }

    private mutating func key(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> String {
        let token = try objects.key(at: position, bytes)
        try count(1, token)
        let object = try objects.layout.reference(at: position, bytes)
        isMet[object] = true
        guard case .string(let text) = bytesValue(object, token) else { preconditionFailure("a key is a string") }
        return text
    }

    private mutating func bytesValue(_ object: Int, _ token: TapeToken) -> WireValue {
        if isMet[object], !made.isEmpty, let known = made[object] { return known }
        let range = token.offset..<token.offset + token.length
        let value: WireValue =
            switch token.storage {
            case .utf16:
                .string(input.withUnsafeBufferPointer { UTF16Text.string(UnsafeBufferPointer(rebasing: $0[range])) })
            default:
                token.kind == .data
                    ? .data([UInt8](input[range]))
                    : .string(
                        input.withUnsafeBufferPointer {
                            String(decoding: UnsafeBufferPointer(rebasing: $0[range]), as: UTF8.self)
                        })
            }
        keep(value, object)
        return value
    }

    private mutating func keep(_ value: WireValue, _ object: Int) {
        guard isMet[object] else {
            isMet[object] = true
            return
        }
        if made.isEmpty { made = Array(repeating: nil, count: objects.layout.objectCount) }
        made[object] = value
    }
}

extension BinaryPropertyListTreeReader {
    private mutating func enter(_ object: Int, _ token: TapeToken) throws(WireFormatError) {
        try objects.enter(object, at: token.offset)
        guard depth < limits.depth else { throw exceeded("depth", limits.depth, token) }
        depth += 1
    }

    private mutating func leave(_ object: Int, _ token: TapeToken) throws(WireFormatError) {
        tokens += 1
        depth -= 1
        objects.leave(object)
    }

    private mutating func count(_ number: Int, _ token: TapeToken) throws(WireFormatError) {
        guard tokens < limits.values else { throw exceeded("values", limits.values, token) }
        tokens += number
        guard token.kind == .string || token.kind == .data else { return }
        expandedBytes += token.length
        guard expandedBytes <= limits.expandedBytes else {
            throw exceeded("expanded bytes", limits.expandedBytes, token)
        }
    }

    private func exceeded(_ what: String, _ limit: Int, _ token: TapeToken) -> WireFormatError {
        failure(.limitExceeded, "the document exceeds the limit of \(limit) (\(what))", token)
    }

    private func failure(_ kind: WireFormatError.Kind, _ message: String, _ token: TapeToken) -> WireFormatError {
        WireFormatError(kind, message, at: .init(offset: token.offset))
    }
}
