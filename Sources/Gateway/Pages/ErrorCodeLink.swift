import AdapterKit

/// Where the page of an error code is. Each error response names it (`Link` with `rel="help"`, RFC 8288).
struct ErrorCodeLink {
    static let folder = "/errors"

    let path: String

    init(_ code: ErrorCode) {
        path = "\(Self.folder)/\(code.rawValue)"
    }

    /// The value of the field `Link`.
    var field: String { "<\(path)>; rel=\"help\"" }
}
