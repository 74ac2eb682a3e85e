import AdapterKit

/// The app or browser that signed in, as it names itself (`User-Agent`): for people, who tell their sign-ins apart by it.
/// Nothing is decided by it.
public struct ClientAgent: Sendable, Equatable {
    /// Bytes that are kept of it.
    static let longest = 200

    /// Printable ASCII, never empty.
    public let text: String

    /// nil: it names nothing.
    public init?(_ sent: String?) {
        let printable = (sent ?? "").unicodeScalars.lazy.filter { (0x20...0x7E).contains($0.value) }.prefix(
            Self.longest)
        text = String(String.UnicodeScalarView(printable))
        if text.allSatisfy({ $0 == " " }) { return nil }
    }
}
