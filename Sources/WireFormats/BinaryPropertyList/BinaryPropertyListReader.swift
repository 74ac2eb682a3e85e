/// Reads a binary property list onto a tape, depth first with a stack of its own.
struct BinaryPropertyListReader: ~Copyable {
    private struct Frame {
        let object: Int
        let references: Int
        let count: Int
        let isDictionary: Bool
        var next = 0
    }

    private var builder: TapeBuilder
    private var objects: BinaryPropertyListObjects
    private var frames: [Frame] = []

    init(_ input: [UInt8], limits: ReadingLimits) throws(WireFormatError) {
        objects = BinaryPropertyListObjects(try BinaryPropertyListLayout(input.span))
        builder = TapeBuilder(input: input, limits: limits, positions: .binary)
    }

    consuming func finish() -> Tape { builder.finish() }

    mutating func readDocument(_ bytes: Span<UInt8>) throws(WireFormatError) {
        try readValue(objects.layout.topObject, bytes)
        while let frame = frames.last {
            guard frame.next < frame.count else {
                try leave(frame)
                continue
            }
            frames[frames.count - 1].next += 1
            let width = objects.layout.referenceSize
            var position = frame.references + frame.next * width
            if frame.isDictionary {
                try readKey(at: position, bytes)
                position += frame.count * width
            }
            try readValue(try objects.layout.reference(at: position, bytes), bytes)
        }
    }

    private mutating func readValue(_ object: Int, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let token = try objects.token(object, bytes)
        switch token.kind {
        case .array, .dictionary: try enter(object, token)
        case .string, .data: try builder.bytes(token, at: token.offset)
        default: try builder.scalar(token, at: try objects.layout.offset(of: object, bytes))
        }
    }

    private mutating func readKey(at position: Int, _ bytes: Span<UInt8>) throws(WireFormatError) {
        let token = try objects.key(at: position, bytes)
        let key = TapeToken(.key, offset: token.offset, length: token.length, storage: token.storage)
        try builder.key(key, at: token.offset)
    }

    private mutating func enter(_ object: Int, _ token: TapeToken) throws(WireFormatError) {
        try objects.enter(object, at: token.offset)
        let isDictionary = token.kind == .dictionary
        try builder.begin(isDictionary ? .dictionary : .array, at: token.offset)
        frames.append(
            Frame(object: object, references: token.offset, count: token.length, isDictionary: isDictionary))
    }

    private mutating func leave(_ frame: Frame) throws(WireFormatError) {
        try builder.end(at: frame.references)
        objects.leave(frame.object)
        frames.removeLast()
    }
}
