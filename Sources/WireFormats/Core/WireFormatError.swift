import ValueTree

/// Why bytes could not be read or a value could not be written. Safe to show to a caller: it quotes no input.
public struct WireFormatError: Error, Sendable, Equatable {
    /// What kind of failure it is.
    public enum Kind: Sendable, Equatable {
        /// The bytes are not a document of this format.
        case malformed
        /// The same key twice in one dictionary, where the policy refuses it.
        case duplicateKey
        /// A limit of ``ReadingLimits`` was passed.
        case limitExceeded
        /// The document is well-formed and uses a feature that is refused, such as a DOCTYPE.
        case refused
        /// The value has no representation in the format that was to be written.
        case notRepresentable
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// A sentence that may be shown to the caller.
    public let message: String
    /// Where reading failed; nil when writing.
    public let position: Position?
    /// Which token of a tape could not be written; its document has the position.
    let token: Int?

    /// Creates a wire format error with these values.
    public init(_ kind: Kind, _ message: String, at position: Position? = nil) {
        self.init(kind, message, at: position, token: nil)
    }

    init(_ kind: Kind, _ message: String, at position: Position? = nil, token: Int?) {
        self.kind = kind
        self.message = message
        self.position = position
        self.token = token
    }
}

extension WireFormatError {
    /// A place in the input. Text formats name line and column too (both from 1, the column in bytes).
    public struct Position: Sendable, Equatable {
        /// The byte, counted from 0.
        public let offset: Int
        /// The line, counted from 1; nil for binary formats.
        public let line: Int?
        /// The column in bytes, counted from 1; nil for binary formats.
        public let column: Int?

        /// Creates a position with these values.
        public init(offset: Int, line: Int? = nil, column: Int? = nil) {
            self.offset = offset
            self.line = line
            self.column = column
        }

        /// The place of a byte in a text: lines end with LF.
        public init(offset: Int, in text: [UInt8]) {
            let before = text.prefix(offset)
            let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
            let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
            self.init(offset: offset, line: line, column: offset - lineStart + 1)
        }
    }
}

extension WireFormatError: CustomStringConvertible {
    public var description: String {
        guard let position else { return message }
        if let line = position.line, let column = position.column {
            return "\(message) (line \(line), column \(column))"
        }
        return "\(message) (byte \(position.offset))"
    }
}
