extension RouteFormats {
    /// The format of a request's body.
    public struct Body: Sendable {
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

    /// Whether the type alone tells the format of a body, whatever its first bytes are.
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
