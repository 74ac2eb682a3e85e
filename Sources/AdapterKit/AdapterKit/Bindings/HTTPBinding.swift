/// How an operation is reached over HTTP, where a contract prescribes it.
///
/// An input member that the path or `queryMembers` names comes from there (as text, read by the member's shape); all
/// others come from the body, decoded by `Content-Type`.
public struct HTTPBinding: Sendable, Equatable {
    public let method: HTTPMethod
    public let path: PathTemplate
    /// Input members that come from query parameters of the same name.
    public let queryMembers: [FieldName]
    public let form: FormBody
    public let presentation: Presentation

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

/// What an `application/x-www-form-urlencoded` body carries.
public enum FormBody: Sendable, Equatable {
    /// A field for each member of the input.
    case members
    /// The whole input as one JSON document in the field of this name. Old clients do not percent-encode it: where a
    /// literal `{` follows the field's `=`, the rest of the body is the document as it stands. A form without the field
    /// is read as ``members``. `complaint` is the error's message for what is no JSON, in a form or on its own.
    case document(field: FieldName, complaint: String)
}

public enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
}

/// How an answer looks on the wire.
public struct Presentation: Sendable, Equatable {
    /// Written where the caller names no preference: `json`, `plist`, `bplist`, `xml` or another format's name.
    public let defaultFormat: String
    /// The XML document a contract prescribes; nil: the generic, self-describing mapping.
    public let xml: XMLDocument?
    /// `text/xml` means an XML property list here, while `application/xml` stays generic XML.
    public let textXMLIsPropertyList: Bool
    public let errors: ErrorPresentation
    /// Members that are null are left out, for formats that know no null.
    public let omitsNull: Bool

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
    public let root: String
    public let namespace: String?

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
