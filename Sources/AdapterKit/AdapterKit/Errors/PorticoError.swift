/// A failure with a code of the registry and a message that may be shown to whoever caused it.
///
/// What only operators should read goes into ``logDetail``, which no answer ever contains.
public struct PorticoError: Error, Sendable {
    public let code: ErrorCode
    public let message: String
    /// The member, field or parameter at fault, as a path such as `employees[3].email`; nil where there is none.
    public let target: String?
    /// After how many seconds it is worth trying again.
    public let retryAfter: Int?
    public let logDetail: String?

    public init(
        _ code: ErrorCode, _ message: String, target: String? = nil, retryAfter: Int? = nil, logDetail: String? = nil
    ) {
        self.code = code
        self.message = message
        self.target = target
        self.retryAfter = retryAfter
        self.logDetail = logDetail
    }
}

extension PorticoError: CustomStringConvertible {
    public var description: String {
        "\(code.rawValue): \(message)" + (logDetail.map { " (\($0))" } ?? "")
    }
}
