import AdapterKit
import HTTPTypes

/// An endpoint at its place, with everything that is decided before it is asked.
struct Route: Sendable {
    let method: HTTPRequest.Method
    let path: PathTemplate
    let endpoint: any Endpoint

    init(_ method: HTTPRequest.Method, _ path: PathTemplate, _ endpoint: any Endpoint) {
        self.method = method
        self.path = path
        self.endpoint = endpoint
    }
}

/// What a path leads to.
enum RouteMatch: Sendable {
    case endpoint(any Endpoint, parameters: [FieldName: String])
    /// The path is known, the method is not; what it would take.
    case otherMethod(allowed: [HTTPRequest.Method])
    case unknown
}
