import ValueTree

/// A validated document as a flat array of tokens that point into its bytes. It holds the input, no Strings.
///
/// A reader promises of a tape: it is one whole value, containers are closed and counted, all text is valid, no
/// dictionary has two equal keys. So whoever walks it need not check anything again.
public struct Tape: Sendable {
    public let tokens: TapeTokens
    /// The document as it came.
    public let input: [UInt8]
    /// Text and data that were resolved while reading: references, base64, chunks put together.
    public let side: [UInt8]
    /// How many members were dropped for ``DuplicateKeyPolicy/keepLast``.
    public let droppedDuplicates: Int
    /// Which token of the document each token was, where some were dropped.
    var origins: [Int] = []

    /// The position after the value that starts at `position` (for a key: after its value).
    public func position(after position: Int) -> Int {
        let token = tokens[position]
        switch token.kind {
        case .array, .dictionary: return position + token.length + 1
        case .key: return self.position(after: position + 1)
        default: return position + 1
        }
    }
}

extension Tape {
    /// The UTF-8 of a string, a key or a decimal, or the bytes of data, escapes resolved. Valid inside `body` only.
    @inlinable
    public func withBytes<Result>(
        of token: TapeToken, _ body: (UnsafeBufferPointer<UInt8>) throws(WireFormatError) -> Result
    ) throws(WireFormatError) -> Result {
        switch token.storage {
        case .input: try Self.withSlice(of: input, token, body)
        case .side: try Self.withSlice(of: side, token, body)
        case .jsonEscaped, .utf16: try Self.withSlice(of: resolved(token), nil, body)
        }
    }

    public func string(of token: TapeToken) -> String {
        do {
            return try withBytes(of: token) { bytes throws(WireFormatError) in String(decoding: bytes, as: UTF8.self) }
        } catch { preconditionFailure("the body does not throw") }
    }

    @usableFromInline
    func resolved(_ token: TapeToken) -> [UInt8] {
        let range = token.offset..<token.offset + token.length
        return token.storage == .utf16 ? UTF16Text.utf8(input[range]) : JSONText.unescaped(input[range])
    }

    @inlinable
    static func withSlice<Result>(
        of bytes: [UInt8], _ token: TapeToken?,
        _ body: (UnsafeBufferPointer<UInt8>) throws(WireFormatError) -> Result
    ) throws(WireFormatError) -> Result {
        // `withUnsafeBufferPointer` rethrows untyped in this signature; a Result carries the typed error out.
        let outcome: Swift.Result<Result, WireFormatError> = bytes.withUnsafeBufferPointer { whole in
            let range = token.map { $0.offset..<$0.offset + $0.length } ?? 0..<whole.count
            do throws(WireFormatError) {
                return .success(try body(UnsafeBufferPointer(rebasing: whole[range])))
            } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}
