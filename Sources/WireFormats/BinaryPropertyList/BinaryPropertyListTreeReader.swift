import ValueTree

/// Reads a binary property list straight into a tree. Strings and data that the document shares are made once and
/// shared by the tree too; the limits count them each time all the same, as on the tape.
struct BinaryPropertyListTreeReader: ~Copyable {
    let layout: BinaryPropertyListLayout
    let input: [UInt8]
    let limits: ReadingLimits
    /// What is known of each object.
    var marks: [ObjectMarks]
    /// Strings and data by object; empty until one is met again, for most are met once.
    var made: [WireValue?] = []
    var shape = DictionaryShape()
    var tokens = 0
    var expandedBytes = 0
    private var depth = 0

    struct ObjectMarks: OptionSet {
        let rawValue: UInt8
        /// The container is being read: a reference to it now comes from within it.
        static let isOpen = ObjectMarks(rawValue: 1)
        static let isMet = ObjectMarks(rawValue: 2)
    }

    init(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) {
        layout = try BinaryPropertyListLayout(input.span)
        marks = []
        marks.reserveCapacity(layout.objectCount)
        marks.append(contentsOf: repeatElement([], count: layout.objectCount))
        (self.input, self.limits) = (input, limits)
    }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) -> WireValue {
        try value(layout.topObject, bytes)
    }

    private mutating func value(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> WireValue {
        let token = try layout.object(object, bytes)
        try count(token)
        switch token.kind {
        case .string, .data: return bytesValue(object, token)
        case .array: return .array(try items(object, token, bytes))
        case .dictionary: return .dictionary(try members(object, token, bytes))
        default: return Tape.number(token)
        }
    }

    private mutating func items(
        _ object: Int, _ token: TapeToken, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> [WireValue] {
        try enter(object, token)
        var items: [WireValue] = []
        items.reserveCapacity(token.length)
        var position = token.offset
        for _ in 0..<token.length {
            items.append(try value(try layout.reference(at: position, bytes), bytes))
            position &+= layout.referenceSize
        }
        leave(object)
        return items
    }

    private mutating func members(
        _ object: Int, _ token: TapeToken, _ bytes: Span<UInt8>
    ) throws(WireFormatError) -> WireDictionary {
        try enter(object, token)
        let names = try names(of: token, bytes)
        var entries: [WireDictionary.Entry] = []
        entries.reserveCapacity(token.length)
        var position = token.offset + token.length * layout.referenceSize
        for name in names.keys {
            let member = try value(try layout.reference(at: position, bytes), bytes)
            entries.append(.init(key: name, value: member))
            position &+= layout.referenceSize
        }
        leave(object)
        return names.areDistinct ? WireDictionary(uncheckedUniqueKeys: entries) : Self.keepingLast(entries)
    }

    private static func keepingLast(_ entries: [WireDictionary.Entry]) -> WireDictionary {
        var members = WireDictionary()
        for entry in entries { members[entry.key] = entry.value }
        return members
    }

    private mutating func enter(_ object: Int, _ token: TapeToken) throws(WireFormatError) {
        guard !marks[object].contains(.isOpen) else {
            throw BinaryPropertyListLayout.malformed("an object contains itself", at: token.offset)
        }
        guard depth < limits.depth else { throw exceeded("depth", limits.depth, token) }
        marks[object].insert(.isOpen)
        depth += 1
    }

    private mutating func leave(_ object: Int) {
        marks[object].remove(.isOpen)
        tokens += 1
        depth -= 1
    }
}

extension BinaryPropertyListTreeReader {
    @inline(__always)
    mutating func count(_ token: TapeToken) throws(WireFormatError) {
        guard tokens < limits.values else { throw exceeded("values", limits.values, token) }
        tokens += 1
        guard token.kind == .string || token.kind == .data else { return }
        expandedBytes += token.length
        guard expandedBytes <= limits.expandedBytes else {
            throw exceeded("expanded bytes", limits.expandedBytes, token)
        }
    }

    private func exceeded(_ what: String, _ limit: Int, _ token: TapeToken) -> WireFormatError {
        failure(.limitExceeded, "the document exceeds the limit of \(limit) (\(what))", token)
    }

    func failure(_ kind: WireFormatError.Kind, _ message: String, _ token: TapeToken) -> WireFormatError {
        WireFormatError(kind, message, at: .init(offset: token.offset))
    }
}

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

/// The keys of a dictionary in a binary property list, kept for the next one that refers to the same.
struct DictionaryShape {
    var keys: [String] = []
    var areDistinct = true
    /// What the keys count against the limit.
    var expandedBytes = 0
    /// Where the references to the keys are.
    var references = 0

    /// Whether the references at `offset` are the ones of this shape, bit by bit.
    func hasSameReferences(_ offset: Int, _ size: Int, _ input: [UInt8]) -> Bool {
        input.withUnsafeBufferPointer { input in
            SWAR.areEqual(
                UnsafeBufferPointer(rebasing: input[references..<references + size]),
                UnsafeBufferPointer(rebasing: input[offset..<offset + size]))
        }
    }

    /// Few keys are compared with each other, many are hashed.
    static func areDistinct(_ keys: [String]) -> Bool {
        guard keys.count <= KeySet.pairwise else {
            return Set(keys.map { Array($0.utf8) }).count == keys.count
        }
        for later in keys.indices.dropFirst() {
            for earlier in 0..<later where keys[earlier].hasSameBytes(as: keys[later]) { return false }
        }
        return true
    }
}
