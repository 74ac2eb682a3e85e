/// The name by which a format is asked for: `?format=`, `portico convert --to`, a resource's declaration.
public struct FormatName: Sendable, Hashable {
    public let text: String

    /// A lower-case ASCII name of letters and digits, at most 32 of them; nil otherwise.
    public init?(_ text: String) {
        let isName = text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
        guard isName, !text.isEmpty, text.utf8.count <= 32 else { return nil }
        self.text = text
    }

    private init(known text: StaticString) {
        self.text = "\(text)"
    }
}

extension FormatName {
    public static let json = FormatName(known: "json")
    /// The XML encoding of property lists.
    public static let plist = FormatName(known: "plist")
    /// The binary encoding of property lists.
    public static let bplist = FormatName(known: "bplist")
    /// Generic XML.
    public static let xml = FormatName(known: "xml")
    public static let cbor = FormatName(known: "cbor")
}

extension FormatName: CustomStringConvertible {
    public var description: String { text }
}
