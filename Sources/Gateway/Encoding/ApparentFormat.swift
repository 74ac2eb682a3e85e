import WireFormats

/// The format that a body begins like, to name the right `Content-Type` to a caller that sent another one.
enum ApparentFormat: Equatable {
    case json, xml, binaryPropertyList, form

    /// Bytes of a form's first name that are looked through.
    private static let longestName = 256

    /// Nil: it begins like none of them.
    init?(_ body: [UInt8]) {
        let text = body.starts(with: [0xEF, 0xBB, 0xBF]) ? body.dropFirst(3) : body[...]
        let start = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        switch start.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): self = .json
        case UInt8(ascii: "<"): self = .xml
        default:
            if start.starts(with: "bplist".utf8) {
                self = .binaryPropertyList
            } else if Self.isForm(start.prefix(Self.longestName)) {
                self = .form
            } else {
                return nil
            }
        }
    }

    /// A name of letters, digits and a few signs, and `=` after it.
    private static func isForm(_ start: ArraySlice<UInt8>) -> Bool {
        guard let end = start.firstIndex(of: UInt8(ascii: "=")), end > start.startIndex else { return false }
        return start[..<end].allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "_-.$%+".utf8.contains(byte)
        }
    }

    /// A sentence for a body that was read as `format` and is no document of it; nil where it begins like one.
    func advice(insteadOf format: FormatName) -> String? {
        let own: Set<FormatName> =
            switch self {
            case .json: [.json]
            case .xml: [.xml, .plist]
            case .binaryPropertyList: [.bplist, .plist]
            case .form: []
            }
        return own.contains(format) ? nil : "It looks like \(words). \(advice)"
    }

    var words: String {
        switch self {
        case .json: "JSON"
        case .xml: "XML"
        case .binaryPropertyList: "a binary property list"
        case .form: "a form"
        }
    }

    var advice: String {
        let type =
            switch self {
            case .json: MediaType.json.essence
            case .xml: "application/xml"
            case .binaryPropertyList: "application/x-apple-binary-plist"
            case .form: BodyReader.formType
            }
        return "Send `Content-Type: \(type)`."
    }
}
