/// The part of a stream that is held: a buffer that is filled on demand and whose consumed start is given up.
struct InputWindow {
    private let source: () throws -> [UInt8]
    private let limit: Int
    private(set) var bytes: [UInt8] = []
    /// What is consumed of ``bytes``.
    private(set) var position = 0
    private(set) var isAtEnd = false
    /// The place of ``position`` in the whole stream.
    private(set) var offset = 0
    private var line = 1
    private var lineStart = 0

    init(source: @escaping () throws -> [UInt8], limit: Int) {
        (self.source, self.limit) = (source, limit)
    }

    var available: Int { bytes.count - position }
    /// A byte from the current one on; nil beyond what is held.
    func byte(_ index: Int) -> UInt8? { index < available ? bytes[position + index] : nil }
    var first: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Reads until so many bytes are available, or to the end.
    mutating func fill(to count: Int) throws {
        while available < count, !isAtEnd {
            let chunk = try source()
            isAtEnd = chunk.isEmpty
            guard offset + available + chunk.count <= limit else {
                throw Self.tooLong(limit)
            }
            if position > bytes.count / 2 {
                bytes.removeSubrange(..<position)
                position = 0
            }
            bytes.append(contentsOf: chunk)
        }
    }

    static func tooLong(_ limit: Int) -> WireFormatError {
        WireFormatError(
            .limitExceeded, "the document exceeds the limit of \(limit) bytes", at: .init(offset: limit))
    }

    mutating func advance(_ count: Int) {
        for index in position..<position + count where bytes[index] == 0x0A {
            line += 1
            lineStart = offset + index - position + 1
        }
        position += count
        offset += count
    }

    /// The next bytes, consumed.
    mutating func take(_ count: Int) -> [UInt8] {
        let piece = Array(bytes[position..<position + count])
        advance(count)
        return piece
    }

    mutating func takeAll() -> [UInt8] {
        position == 0 ? bytes : take(available)
    }

    /// The next bytes, not consumed.
    func peek(_ count: Int) -> [UInt8] {
        Array(bytes[position..<position + count])
    }

    /// The current place, or the one of an error in a piece that starts at it.
    func place(_ inner: WireFormatError.Position? = nil) -> WireFormatError.Position {
        let innerLine = inner?.line ?? 1
        let innerColumn = inner?.column ?? 1
        let column = innerLine == 1 ? offset - lineStart + innerColumn : innerColumn
        return .init(offset: offset + (inner?.offset ?? 0), line: line + innerLine - 1, column: column)
    }
}
