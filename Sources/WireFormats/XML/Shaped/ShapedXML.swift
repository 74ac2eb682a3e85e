import AdapterKit

/// The XML document that a contract prescribes, directed by a shape: elements of the members' names in declared order, in
/// the root's namespace, without attributes and without types.
///
///     <UserList xmlns="http://captechventures.com/schema">
///       <entry><UserId>100</UserId><UserName>Fake 1</UserName></entry>
///       <entry>…</entry>
///     </UserList>
///
/// - A list is one element for each item, without an element around them; a list with a name in ``wrappedLists`` is one
///   element around items of that name. A list inside of a list, or as the root, holds `item` elements.
/// - Texts are those of XML Schema: `true`, `42`, `1.5`, `INF`, `2026-11-21T08:00:00Z`, base64. CDATA is never written.
/// - A member that is absent or null has no element. So a list without items and no list at all look alike; it is read as
///   a list without items.
public struct ShapedXML: Sendable {
    public let shape: Shape
    public let root: XMLElementName
    /// Empty for none.
    public let namespace: String
    /// List members (by name, wherever they are) that stand in an element of their own, and the name of their items.
    public let wrappedLists: [FieldName: XMLElementName]

    /// Nil where the document's root is no element's name or the namespace holds what XML cannot carry.
    public init?(_ document: XMLDocument, _ shape: Shape, wrappedLists: [FieldName: XMLElementName] = [:]) {
        guard let root = XMLElementName(document.root) else { return nil }
        let namespace = document.namespace ?? ""
        guard Array(namespace.utf8).withUnsafeBufferPointer(XMLElementNames.isText) else { return nil }
        (self.shape, self.root, self.namespace, self.wrappedLists) = (shape, root, namespace, wrappedLists)
    }

    /// What a document says.
    public struct Reading: Sendable, Equatable {
        public var value: WireValue
        /// Elements and attributes that the shape does not have; what is in them was skipped.
        public var unknown: [Unknown]
    }

    public struct Unknown: Sendable, Equatable {
        /// `UserList/entry/Colour`, an attribute as `UserList/@version`; names as they stand in the document.
        public var path: String
        public var position: WireFormatError.Position
    }

    /// How many unknown parts are reported; more are skipped silently.
    public static let reportedUnknowns = 100
}

extension ShapedXML {
    /// - Throws: ``WireFormatError/Kind/notRepresentable`` where the value is not of the shape or holds text that XML
    ///   cannot carry.
    public func write(_ value: WireValue, options: WritingOptions = WritingOptions()) throws(WireFormatError) -> [UInt8]
    {
        var output = OutputBuffer()
        var writer = ShapedXMLWriter(document: self, options: options)
        try writer.writeDocument(value, to: &output)
        return output.take()
    }

    /// Elements may come in any order. One that occurs twice without being a list is an error, as is a text that its
    /// shape's type does not have. Limits of ranges and lengths are not checked here, but by ``AdapterKit/Shape/check``.
    public func read(
        _ input: [UInt8], charset: String? = nil, limits: ReadingLimits = ReadingLimits()
    ) throws(WireFormatError) -> Reading {
        let source = try XMLSource(input, charset: charset)
        var reader = ShapedXMLReader(document: self, source: source, limits: limits)
        return try reader.readDocument(source.bytes.span)
    }
}
