/// An address on this server, to which a browser may be sent after signing in: nothing that it would take for another
/// server's.
struct LocalPath: Sendable, Equatable {
    static let front = LocalPath(unchecked: "/")
    /// Longer ones are not remembered.
    static let maximumBytes = 2_048

    let text: String

    /// Nil for what does not begin with one slash, and for anything with a backslash, which browsers read as a slash, or
    /// a control character, which they skip (the URL Standard, sections 4.1 and 4.4).
    init?(_ text: String) {
        guard text.hasPrefix("/"), !text.hasPrefix("//"), text.utf8.count <= Self.maximumBytes,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }
}
