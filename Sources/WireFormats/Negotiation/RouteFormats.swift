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

extension RouteFormats {
    /// The format of the answer.
    public struct Answer: Sendable {
        /// The format to write.
        public let format: any WireFormat
        /// What the answer is labelled with: the type that was named, or the format's own for a wildcard.
        public let mediaType: MediaType
        /// The range that decided; nil for the route's default and for `?format=`.
        public let range: MediaRange?
    }

    /// Chooses the answer's format.
    ///
    /// - Parameters:
    ///   - accept: the `Accept` field, several of them joined by commas; nil, or without a well-formed element, means the
    ///     route's default.
    ///   - override: the value of `?format=`, which wins over `accept`.
    ///
    /// A format's weight is that of the most specific range that matches it. The highest weight wins; then the more
    /// specific range, then the order in the field, then the route's order. Weight 0 excludes.
    public func negotiate(accept: String?, override: String? = nil) throws(NegotiationFailure) -> Answer {
        if let override { return try negotiate(named: override) }
        let ranges = MediaRange.list(accept ?? "")
        if ranges.isEmpty { return label(formats[0], formats[0].mediaTypeWritten, nil) }
        let candidates = self.candidates(for: ranges).filter { ranges[$0.range].quality > 0 }
        guard let best = candidates.min(by: { isBetter($0, $1, ranges) }) else {
            throw .notAcceptable(mediaTypes)
        }
        let (format, isBySuffix) = (best.representation.format, best.representation.isBySuffix)
        return label(format, isBySuffix ? format.mediaTypeWritten : best.representation.type, ranges[best.range])
    }

    private func negotiate(named text: String) throws(NegotiationFailure) -> Answer {
        guard let format = formats.first(where: { $0.name.text == text }) else { throw .notAcceptable(mediaTypes) }
        return label(format, format.mediaTypeWritten, nil)
    }

    private struct Candidate {
        let representation: Representation
        let place: Int
        let range: Int
    }

    /// Each representation with the most specific range that matches it.
    private func candidates(for ranges: [MediaRange]) -> [Candidate] {
        (representations + suffixed(ranges)).enumerated().compactMap { place, representation in
            let matching = ranges.indices.filter { ranges[$0].matches(representation.type) }
            let closest = matching.max { ranges[$0].specificity < ranges[$1].specificity }
            return closest.map { Candidate(representation: representation, place: place, range: $0) }
        }
    }

    /// Types like `application/vnd.example+json` that a range names and a format's suffix covers. The answer is of the
    /// general format and is labelled so: whether it keeps the named one's rules is not checked.
    ///
    /// Not for XML: a type such as `application/xhtml+xml` is a vocabulary with elements of its own, which generic XML
    /// never is. Browsers name it before `application/xml`.
    private func suffixed(_ ranges: [MediaRange]) -> [Representation] {
        let known = representations
        return ranges.compactMap { range in
            guard let suffix = range.type.structuredSuffix, suffix != FormatName.xml.text,
                !known.contains(where: { range.matches($0.type) }),
                let format = formats.first(where: { $0.structuredSuffix == suffix })
            else { return nil }
            return Representation(format: format, type: range.type, isBySuffix: true)
        }
    }

    private func isBetter(_ left: Candidate, _ right: Candidate, _ ranges: [MediaRange]) -> Bool {
        let (a, b) = (ranges[left.range], ranges[right.range])
        if a.quality != b.quality { return a.quality > b.quality }
        if a.specificity != b.specificity { return a.specificity > b.specificity }
        return (left.range, left.place) < (right.range, right.place)
    }

    /// A named type gets the format's parameters (a charset) where the format's own type has them.
    private func label(_ format: any WireFormat, _ type: MediaType, _ range: MediaRange?) -> Answer {
        let parameters = format.mediaTypeWritten.parameters
        let labelled = MediaType(type: type.type, subtype: type.subtype, parameters: parameters) ?? type
        return Answer(format: format, mediaType: labelled, range: range)
    }
}

extension RouteFormats {
    /// The format of a request's body.
    public struct Body: Sendable {
        /// The format to read.
        public let format: any WireFormat
        /// The `charset` parameter in lower case, for ``WireFormat/readTape(_:charset:limits:)``.
        public let charset: String?
    }

    /// Finds the format of a body by its `Content-Type`; without one it is the route's default. Where two formats share
    /// a type, the body's first bytes decide.
    public func body(contentType: String?, bytes: [UInt8]) throws(NegotiationFailure) -> Body {
        guard let contentType else { return Body(format: formats[0], charset: nil) }
        guard let type = MediaType(contentType) else { throw .malformedField("Content-Type") }
        guard let format = format(reading: type, bytes) else { throw .unsupported(mediaTypes) }
        guard type.charset.map(format.charsets.contains) ?? true else { throw .unsupported(mediaTypes) }
        return Body(format: format, charset: type.charset)
    }

    /// Whether the type alone determines the format of a body, whatever its first bytes are.
    public func isUnambiguous(_ type: MediaType) -> Bool {
        FormatCatalogue(formats).formats(reading: type).count <= 1
    }

    private func format(reading type: MediaType, _ bytes: [UInt8]) -> (any WireFormat)? {
        if textXMLMeansPlist, type.hasSameEssence(as: .textXML), let plist = formats.first(where: { $0.name == .plist })
        {
            return plist
        }
        return FormatCatalogue(formats).format(reading: type, body: bytes)
    }
}
