import ValueTree
import WireFormats

/// What the wire formats are measured at: one pass over a shape's documents. It returns a number that depends on the
/// whole work, so that none of it can be optimised away.
public struct OurWork: Sendable {
    public let name: String
    /// The format whose bytes the work reads or writes; figures per byte count these.
    public let format: FormatName
    public let pass: @Sendable (EncodedShape) throws -> Int

    public static let all: [OurWork] =
        [.json, .plist, .bplist, .xml].flatMap { [validate($0), read($0), write($0)] }
        + [scanXML, transcode(.json, to: .bplist)]

    public static func validate(_ name: FormatName) -> OurWork {
        OurWork(name: "\(name) → tape", format: name) { shape in
            let (format, limits) = (known(name), ReadingLimits())
            return try shape[name].reduce(0) { $0 &+ (try format.readTape($1, limits: limits).tokens.count) }
        }
    }

    public static func read(_ name: FormatName) -> OurWork {
        OurWork(name: "\(name) → tree", format: name) { shape in
            let (format, limits) = (known(name), ReadingLimits())
            return try shape[name].reduce(0) { $0 &+ size(try format.read($1, limits: limits)) }
        }
    }

    public static func write(_ name: FormatName) -> OurWork {
        OurWork(name: "tree → \(name)", format: name) { shape in
            let (format, options) = (known(name), WritingOptions())
            return try shape.shape.documents.reduce(0) { $0 &+ (try format.write($1, options: options).count) }
        }
    }

    public static func transcode(_ from: FormatName, to target: FormatName) -> OurWork {
        OurWork(name: "\(from) → \(target)", format: from) { shape in
            let (reader, writer) = (known(from), known(target))
            return try shape[from].reduce(0) { $0 &+ (try reader.transcode($1, to: writer).count) }
        }
    }

    /// Every event of generic XML, namespaces expanded and references resolved, no tree.
    public static let scanXML = OurWork(name: "xml → events", format: .xml) { shape in
        try shape[.xml].reduce(0) { $0 &+ (try events(of: $1)) }
    }

    private static func events(of document: [UInt8]) throws -> Int {
        let source = try XMLSource(document)
        var scanner = XMLScanner(start: source.start)
        var (count, text) = (0, [UInt8]())
        while true {
            switch try scanner.next(source.bytes.span) {
            case .endDocument: return count &+ text.count
            case .text where scanner.content.resolving != .none:
                text.removeAll(keepingCapacity: true)
                XMLText.append(scanner.content, source.bytes.span, to: &text)
            default: count &+= 1
            }
        }
    }

    private static func known(_ name: FormatName) -> any WireFormat {
        guard let format = FormatCatalogue.standard[name] else { preconditionFailure("no format \(name)") }
        return format
    }

    private static func size(_ value: WireValue) -> Int {
        switch value {
        case .array(let items): items.count
        case .dictionary(let dictionary): dictionary.count
        default: 1
        }
    }
}
