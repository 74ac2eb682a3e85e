/// The objects of a document, each decoded once, and the containers that are open.
struct BinaryPropertyListObjects: ~Copyable {
    let layout: BinaryPropertyListLayout
    /// `end` stands for an object that has not been decoded.
    private var decoded: [TapeToken]
    private var isOpen: [Bool]

    init(_ layout: BinaryPropertyListLayout) {
        self.layout = layout
        decoded = Array(repeating: TapeToken(.end), count: layout.objectCount)
        isOpen = Array(repeating: false, count: layout.objectCount)
    }

    mutating func token(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let known = decoded[object]
        if known.kind != .end { return known }
        let token = try layout.object(object, bytes)
        decoded[object] = token
        return token
    }

    /// The string that a key's reference names.
    mutating func key(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) -> TapeToken {
        let token = try token(try layout.reference(at: position, bytes), bytes)
        guard token.kind == .string else {
            throw BinaryPropertyListLayout.malformed("a key that is not a string", at: position)
        }
        return token
    }

    mutating func enter(_ object: Int, at offset: Int) throws(WireFormatError) {
        guard !isOpen[object] else {
            throw BinaryPropertyListLayout.malformed("an object contains itself", at: offset)
        }
        isOpen[object] = true
    }

    mutating func leave(_ object: Int) {
        isOpen[object] = false
    }
}
