/// The formats of one route, and which of them a request means. Pure functions over the header fields' text.
public struct RouteFormats: Sendable {
    /// In the route's order of preference, the default first.
    public let formats: [any WireFormat]
    /// On a feed of property lists `text/xml` means the XML encoding of a property list, not generic XML.
    public let textXMLMeansPlist: Bool

    /// At least one format; none is a programmer's error and traps.
    public init(_ formats: [any WireFormat], textXMLMeansPlist: Bool = false) {
        precondition(!formats.isEmpty, "a route without formats")
        self.formats = formats
        self.textXMLMeansPlist = textXMLMeansPlist
    }

    /// The types that a 406 or 415 lists.
    public var mediaTypes: [MediaType] { formats.map(\.mediaTypeWritten) }

    /// Every type a format of this route is known by, with the format that it means; the route's order, and for a type
    /// that two formats share (`application/x-plist`) the one without a signature, which is the XML encoding.
    var representations: [Representation] {
        var known: [Representation] = []
        for format in formats {
            for type in types(of: format) {
                let holder = known.firstIndex { $0.type.hasSameEssence(as: type) }
                if let holder, known[holder].format.signature == nil { continue }
                if let holder { known.remove(at: holder) }
                known.append(Representation(format: format, type: type))
            }
        }
        return known
    }

    struct Representation {
        let format: any WireFormat
        let type: MediaType
        /// The type stands for others too and must not label an answer.
        var isBySuffix = false
    }

    private func types(of format: any WireFormat) -> [MediaType] {
        let own =
            [format.mediaTypeWritten]
            + format.mediaTypesRead.filter {
                !$0.hasSameEssence(as: format.mediaTypeWritten)
            }
        guard textXMLMeansPlist else { return own }
        if format.name == .plist { return own + [.textXML] }
        return own.filter { !$0.hasSameEssence(as: .textXML) }
    }
}

/// Why a request's formats cannot be met. The gateway answers with the status in brackets.
public enum NegotiationFailure: Error, Sendable, Equatable {
    /// (400) A header field breaks its grammar.
    case malformedField(String)
    /// (406) No format of the route is acceptable; these would be.
    case notAcceptable([MediaType])
    /// (415) The body's type or charset is not read here; these are.
    case unsupported([MediaType])
}
