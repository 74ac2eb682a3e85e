/// An element of a CSDL document, whichever of its forms it was written in; JSON's is read into the same elements.
public struct CSDLElement: Sendable, Equatable {
    public let name: String
    /// The element's namespace name.
    public let namespace: String
    /// In the order of the document, without namespace declarations; names of other namespaces as `{namespace}name`.
    public var attributes: [Attribute]
    public var children: [CSDLElement]
    /// The text directly inside, white space around it taken off.
    public var text: String
    /// Where it stands in the document: from 1, 0 for what was made.
    public let line: Int

    public struct Attribute: Sendable, Equatable {
        public let name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(
        _ name: String, namespace: String = CSDLNamespace.edm, _ attributes: [Attribute] = [],
        children: [CSDLElement] = [], text: String = "", line: Int = 0
    ) {
        self.name = name
        self.namespace = namespace
        self.attributes = attributes
        self.children = children
        self.text = text
        self.line = line
    }

    public subscript(attribute: String) -> String? {
        attributes.first { $0.name == attribute }?.value
    }

    public func all(_ name: String) -> [CSDLElement] { children.filter { $0.name == name } }
    public func first(_ name: String) -> CSDLElement? { children.first { $0.name == name } }
}

/// Namespace names of CSDL XML 4.0 and 4.01.
public enum CSDLNamespace {
    public static let edmx = "http://docs.oasis-open.org/odata/ns/edmx"
    public static let edm = "http://docs.oasis-open.org/odata/ns/edm"
    /// Version 2's attributes of EDM elements.
    public static let metadata2 = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
}

/// Why a CSDL document is refused: safe to show, with the line where there is one.
public struct CSDLProblem: Error, Sendable, Equatable, CustomStringConvertible {
    public let message: String
    public let line: Int?

    public init(_ message: String, line: Int? = nil) {
        self.message = message
        self.line = line == 0 ? nil : line
    }

    public var description: String { line.map { "\(message) (line \($0))" } ?? message }
}
