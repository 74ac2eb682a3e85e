/// Where something stands in the text that was parsed: UTF-8 bytes from the start of the raw, still encoded text.
public struct SourceRange: Sendable, Hashable {
    public let start: Int
    public let end: Int

    public init(_ start: Int, _ end: Int) {
        self.start = start
        self.end = end
    }

    /// From the start of this one to the end of the other.
    public func through(_ other: SourceRange) -> SourceRange { SourceRange(start, other.end) }
}
