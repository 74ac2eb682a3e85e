/// The formats that a host speaks. A further format is one more line in ``standard``.
public struct FormatCatalogue: Sendable {
    /// The formats in their order of preference.
    public let formats: [any WireFormat]

    /// Every format of this library.
    public static let standard = FormatCatalogue([
        JSONFormat(),
        XMLPropertyListFormat(),
        XMLFormat(),
        BinaryPropertyListFormat(),
        CBORFormat(),
    ])

    /// The same for conversions between files: here a foreign XML document keeps the name of its root.
    public static let conversion = FormatCatalogue(
        standard.formats.map { $0.name == .xml ? XMLFormat(untypedRoot: .named) : $0 })

    /// Two formats of one name are a programmer's error and trap.
    public init(_ formats: [any WireFormat]) {
        precondition(Set(formats.map(\.name)).count == formats.count, "two formats with one name")
        self.formats = formats
    }

    /// The format of that name; nil where there is none.
    public subscript(name: FormatName) -> (any WireFormat)? {
        formats.first { $0.name == name }
    }

    /// Every format that reads a media type, the one that prefers it first. `application/x-plist` has two; the body
    /// decides which (``format(reading:body:)``).
    public func formats(reading type: MediaType) -> [any WireFormat] {
        let exact = formats.filter { format in format.mediaTypesRead.contains { $0.hasSameEssence(as: type) } }
        if !exact.isEmpty { return exact }
        return formats.filter { $0.structuredSuffix != nil && $0.structuredSuffix == type.structuredSuffix }
    }

    /// The format of a body: among those that read its type the one whose signature it starts with, otherwise the
    /// first one without a signature.
    public func format(reading type: MediaType, body: [UInt8]) -> (any WireFormat)? {
        let candidates = formats(reading: type)
        return candidates.first { format in format.signature.map(body.starts(with:)) ?? false }
            ?? candidates.first { $0.signature == nil } ?? candidates.first
    }
}
