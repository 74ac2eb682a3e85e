/// What has crossed is not what the protocol says. For operators: it names members, and quotes no value.
public struct MessageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where in a value, joined by dots; empty: the value itself.
    public let path: String
    /// What is wrong there.
    public let reason: String

    /// Creates an error with these values.
    public init(_ reason: String, at path: String = "") {
        self.reason = reason
        self.path = path
    }

    func within(_ name: String) -> MessageError {
        MessageError(reason, at: path.isEmpty ? name : "\(name).\(path)")
    }

    public var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}
