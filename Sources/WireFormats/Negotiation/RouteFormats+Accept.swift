extension RouteFormats {
    /// The format of the answer.
    public struct Answer: Sendable {
        public let format: any WireFormat
        /// What the answer is labelled with: the type that was named, or the format's own for a wildcard.
        public let mediaType: MediaType
        /// The range that decided; nil for the route's default and for `?format=`.
        public let range: MediaRange?
    }

    /// Chooses the answer's format.
    ///
    /// - Parameters:
    ///   - accept: the `Accept` field, several of them joined by commas; nil or empty means the route's default.
    ///   - override: the value of `?format=`, which wins over `accept`.
    ///
    /// A format's weight is that of the most specific range that matches it. The highest weight wins; then the more
    /// specific range, then the order in the field, then the route's order. Weight 0 excludes.
    public func answer(accept: String?, override: String? = nil) throws(NegotiationFailure) -> Answer {
        if let override { return try answer(named: override) }
        guard let ranges = MediaRange.list(accept ?? "") else { throw .malformedField("Accept") }
        if ranges.isEmpty { return label(formats[0], formats[0].mediaTypeWritten, nil) }
        let candidates = self.candidates(for: ranges).filter { ranges[$0.range].quality > 0 }
        guard let best = candidates.min(by: { isBetter($0, $1, ranges) }) else {
            throw .notAcceptable(mediaTypes)
        }
        let (format, isBySuffix) = (best.representation.format, best.representation.isBySuffix)
        return label(format, isBySuffix ? format.mediaTypeWritten : best.representation.type, ranges[best.range])
    }

    private func answer(named text: String) throws(NegotiationFailure) -> Answer {
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
    /// general format and says so: nobody has checked that it keeps the named one's rules.
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
