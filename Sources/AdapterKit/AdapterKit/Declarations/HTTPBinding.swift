/// The place of an operation in HTTP, where a contract prescribes it.
///
/// An input member that the path or `queryMembers` names comes from there (as text, read by the member's shape); all
/// others come from the body, decoded by `Content-Type`.
public struct HTTPBinding: Sendable, Equatable {
    /// The method of the request.
    public let method: HTTPMethod
    /// The path, with the input members that are taken from it.
    public let path: PathTemplate
    /// Input members that come from query parameters of the same name.
    public let queryMembers: [FieldName]
    /// The content of an `application/x-www-form-urlencoded` body.
    public let form: FormBody
    /// The form of the response.
    public let presentation: Presentation

    /// Creates an HTTP binding with these values.
    public init(
        _ method: HTTPMethod, _ path: PathTemplate, queryMembers: [FieldName] = [], form: FormBody = .members,
        presentation: Presentation = Presentation()
    ) {
        self.method = method
        self.path = path
        self.queryMembers = queryMembers
        self.form = form
        self.presentation = presentation
    }
}

/// The content of an `application/x-www-form-urlencoded` body.
public enum FormBody: Sendable, Equatable {
    /// A field for each member of the input.
    case members
    /// The whole input as one JSON document in the field of this name. Old clients do not percent-encode it: where a
    /// literal `{` follows the field's `=`, the rest of the body is the document as it stands. A form without the field
    /// is read as ``members``. `errorMessage` is the error's message for what is no JSON, in a form or on its own.
    case document(field: FieldName, errorMessage: String)
}

/// The methods that a binding may have (RFC 9110, section 9.3).
public enum HTTPMethod: String, Sendable, CaseIterable {
    /// Reads; the gateway derives `HEAD` from it.
    case get = "GET"
    /// Performs an operation.
    case post = "POST"
    /// Replaces a resource.
    case put = "PUT"
    /// Changes parts of a resource.
    case patch = "PATCH"
    /// Removes a resource.
    case delete = "DELETE"
}

/// The form of an answer on the wire.
public struct Presentation: Sendable, Equatable {
    /// Written where the caller names no preference: `json`, `plist`, `bplist`, `xml` or another format's name.
    public let defaultFormat: String
    /// The XML document a contract prescribes; nil: the generic, self-describing mapping.
    public let xml: XMLDocument?
    /// `text/xml` means an XML property list here, while `application/xml` stays generic XML.
    public let textXMLIsPropertyList: Bool
    /// The shape of error responses.
    public let errors: ErrorPresentation
    /// Members that are null are left out, for formats that know no null.
    public let omitsNull: Bool

    /// The formats that ``defaultFormat`` can be: those that the gateway speaks.
    public static let formats = ["json", "plist", "xml", "bplist", "cbor"]

    /// Creates a presentation with these values.
    public init(
        defaultFormat: String = "json", xml: XMLDocument? = nil, textXMLIsPropertyList: Bool = false,
        errors: ErrorPresentation = .standard, omitsNull: Bool = true
    ) {
        self.defaultFormat = defaultFormat
        self.xml = xml
        self.textXMLIsPropertyList = textXMLIsPropertyList
        self.errors = errors
        self.omitsNull = omitsNull
    }
}

/// An XML document directed by the operation's output shape: members become elements of their names in declared order,
/// a list member becomes one element of its name per item.
public struct XMLDocument: Sendable, Equatable {
    /// The local name of the root element.
    public let root: String
    /// The namespace of all elements; nil: none.
    public let namespace: String?

    /// Creates an XML document with these values.
    public init(root: String, namespace: String? = nil) {
        self.root = root
        self.namespace = namespace
    }
}

/// The shape of an error answer.
public enum ErrorPresentation: Sendable, Equatable {
    /// `{"error": {"code", "message", "requestId"}}`
    case standard
    /// The code, the message and the request's id as members of these names, without an envelope.
    case flat(code: String, message: String)
}

/// A path with named parts: `/v2/user/{userId}`; a last part `{rest*}` takes all that follows, slashes included.
public struct PathTemplate: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// One segment of the template.
    public enum Part: Sendable, Hashable {
        /// A segment that must be equal, byte by byte.
        case literal(String)
        /// A segment whose text becomes the input member of that name.
        case parameter(FieldName)
        /// All remaining segments, joined by slashes, as the input member of that name. The last part only.
        case remainder(FieldName)
    }

    /// The segments in order.
    public let parts: [Part]

    /// Nil where the text is no template: it begins with `/`, has no empty part but a single trailing one, and names no
    /// parameter twice.
    public init?(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var parts: [Part] = []
        let pieces = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (position, piece) in pieces.enumerated() {
            let isLast = position == pieces.count - 1
            guard let part = Self.part(piece, isLast: isLast) else { return nil }
            parts.append(part)
        }
        guard Self.namesAreDistinct(parts) else { return nil }
        self.parts = parts
    }

    public init(stringLiteral value: String) {
        // Cannot trap: literals in source code.
        guard let template = PathTemplate(value) else { preconditionFailure("not a path template: \(value)") }
        self = template
    }

    /// The names of the input members that the path provides.
    public var parameters: [FieldName] {
        parts.compactMap { part in
            switch part {
            case .literal: nil
            case .parameter(let name), .remainder(let name): name
            }
        }
    }

    public var description: String {
        "/"
            + parts.map { part in
                switch part {
                case .literal(let text): text
                case .parameter(let name): "{\(name)}"
                case .remainder(let name): "{\(name)*}"
                }
            }.joined(separator: "/")
    }

    private static func part(_ piece: Substring, isLast: Bool) -> Part? {
        guard piece.first == "{", piece.last == "}" else {
            let isPlain = !piece.contains { "{}?#% ".contains($0) }
            return isPlain && (isLast || !piece.isEmpty) ? .literal(String(piece)) : nil
        }
        let inner = piece.dropFirst().dropLast()
        if inner.last == "*" {
            return isLast ? FieldName(String(inner.dropLast())).map(Part.remainder) : nil
        }
        return FieldName(String(inner)).map(Part.parameter)
    }

    private static func namesAreDistinct(_ parts: [Part]) -> Bool {
        var seen: Set<FieldName> = []
        for case .parameter(let name) in parts where !seen.insert(name).inserted { return false }
        if case .remainder(let name)? = parts.last { return !seen.contains(name) }
        return true
    }
}
