import AdapterKit
import HTTPTypes

/// What an endpoint takes and answers: the source of every description, and of nothing else.
struct EndpointDescription: Sendable {
    struct Parameter: Sendable {
        enum Place: String, Sendable {
            case path
            case query
            case header
        }

        let name: String
        let place: Place
        let shape: Shape
        let isRequired: Bool
        let summary: String
    }

    enum Answer: Sendable {
        case nothing
        case value(Shape)
        /// Bytes of one type, no format negotiated.
        case document(mediaType: String)
    }

    let summary: String
    let tag: String
    var parameters: [Parameter] = []
    var body: ObjectShape?
    /// Whether a request without a body is an error; otherwise it means a body without members.
    var needsBody = true
    /// Successful statuses and what comes with them.
    var answers: [(status: HTTPResponse.Status, answer: Answer)] = [(.ok, .value(.any))]
    /// Beyond those that every endpoint of its kind may answer.
    var errors: Set<ErrorCode> = []
    /// The type of failures in a shape of the endpoint's own; nil: the gateway's shape.
    var ownFailures: String?
    /// What the endpoint itself asks for beyond its properties.
    var access: Access?
    /// Whether the operation looks at the caller itself, where an anonymous one is not refused before.
    var isDecidedByOperation = false
}

extension EndpointDescription.Parameter {
    static func path(_ name: String, _ shape: Shape = .string, _ summary: String = "") -> Self {
        .init(name: name, place: .path, shape: shape, isRequired: true, summary: summary)
    }

    static func query(_ name: String, _ shape: Shape, _ summary: String, isRequired: Bool = false) -> Self {
        .init(name: name, place: .query, shape: shape, isRequired: isRequired, summary: summary)
    }

    static func header(_ name: String, _ summary: String) -> Self {
        .init(name: name, place: .header, shape: .string, isRequired: false, summary: summary)
    }
}
