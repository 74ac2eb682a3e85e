/// Reads one CBOR document onto a tape, with a stack of its own.
struct CBORReader: ~Copyable {
    /// An open container; `remaining` is nil for an indefinite length.
    private struct Frame {
        let isMap: Bool
        var remaining: Int?
    }

    /// An item's initial byte and argument.
    struct Head {
        let major: UInt8
        let information: UInt8
        let argument: UInt64
        let start: Int

        var isIndefinite: Bool { information == 31 }
    }

    var builder: TapeBuilder
    var position = 0
    private var frames: [Frame] = []

    init(_ input: [UInt8], limits: ReadingLimits) {
        builder = TapeBuilder(input: input, limits: limits, positions: .binary)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) {
        var head = try takeHead(bytes)
        if head.major == 6, head.argument == CBORTag.selfDescribed { head = try takeHead(bytes) }
        try readItem(head, bytes)
        while let frame = frames.last {
            if try isAtEnd(frame, bytes) {
                try builder.end(at: position)
                frames.removeLast()
                continue
            }
            if let remaining = frame.remaining { frames[frames.count - 1].remaining = remaining - 1 }
            if frame.isMap { try readKey(bytes) }
            try readItem(try takeHead(bytes), bytes)
        }
        guard position == bytes.count else { throw malformed("something follows the value", at: position) }
    }

    private mutating func isAtEnd(_ frame: Frame, _ bytes: Span<UInt8>) throws(WireFormatError) -> Bool {
        if let remaining = frame.remaining { return remaining == 0 }
        guard position < bytes.count else { throw malformed("the document ends too early", at: position) }
        guard bytes[position] == 0xFF else { return false }
        position += 1
        return true
    }

    private mutating func readKey(_ bytes: Span<UInt8>) throws(WireFormatError) {
        let head = try takeHead(bytes)
        guard head.major == 3 else {
            throw builder.failure(.refused, "a key that is not text has no place in the value tree", at: head.start)
        }
        try builder.key(try takeString(.key, head, bytes), at: head.start)
    }

    private mutating func readItem(_ head: Head, _ bytes: Span<UInt8>) throws(WireFormatError) {
        switch head.major {
        case 0, 1: try readInteger(head)
        case 2: try builder.bytes(try takeString(.data, head, bytes), at: head.start)
        case 3: try builder.bytes(try takeString(.string, head, bytes), at: head.start)
        case 4: try begin(.array, head, bytes)
        case 5: try begin(.dictionary, head, bytes)
        case 6: try readTagged(head, bytes)
        default: try readSimple(head)
        }
    }

    private mutating func begin(
        _ container: ContainerKind, _ head: Head, _ bytes: Span<UInt8>
    ) throws(WireFormatError) {
        let room = UInt64(bytes.count - position) / (container == .array ? 1 : 2)
        guard head.isIndefinite || head.argument <= room else {
            throw malformed("a container is longer than the document", at: head.start)
        }
        try builder.begin(container, at: head.start)
        frames.append(Frame(isMap: container == .dictionary, remaining: head.isIndefinite ? nil : Int(head.argument)))
    }

    mutating func takeHead(_ bytes: Span<UInt8>) throws(WireFormatError) -> Head {
        let start = position
        guard start < bytes.count else { throw malformed("the document ends too early", at: start) }
        let (major, information) = (bytes[start] >> 5, bytes[start] & 31)
        position += 1
        guard information >= 24 else { return Head(major, information, UInt64(information), start) }
        if information == 31, (2...5).contains(major) { return Head(major, information, 0, start) }
        guard information < 28 else { throw malformed("a reserved or misplaced initial byte", at: start) }
        let width = 1 << Int(information - 24)
        guard position + width <= bytes.count else { throw malformed("the document ends too early", at: start) }
        defer { position += width }
        return Head(major, information, bytes.bigEndian(at: position, width: width), start)
    }

    func malformed(_ message: String, at offset: Int) -> WireFormatError {
        builder.failure(.malformed, message, at: offset)
    }
}

extension CBORReader.Head {
    init(_ major: UInt8, _ information: UInt8, _ argument: UInt64, _ start: Int) {
        self.init(major: major, information: information, argument: argument, start: start)
    }
}
