import AdapterKit

/// An error that crosses: what the other side throws.
public enum CrossingError: MessageValue, Error, Sendable {
    /// What a caller should learn.
    case error(PorticoError)
    /// Why there is no answer of another system.
    case upstream(UpstreamFailure)
    /// An answer of another system that cannot be what was asked for.
    case mirror(MirrorRefusal)
    /// What is wrong with a configuration.
    case configuration(ConfigurationProblem)
    /// The work was cancelled.
    case cancelled
    /// The reads of a snapshot are to begin again.
    case snapshotRestarted

    /// An error of any kind. One that no caller should see is `server.internal`, with its description for the log.
    public init(_ error: any Error) {
        switch error {
        case let error as PorticoError: self = .error(error)
        case let failure as UpstreamFailure: self = .upstream(failure)
        case let refusal as MirrorRefusal: self = .mirror(refusal)
        case let problem as ConfigurationProblem: self = .configuration(problem)
        case is CancellationError: self = .cancelled
        case is SnapshotRestarted: self = .snapshotRestarted
        default:
            self = .error(
                PorticoError(.serverInternal, "Something went wrong on the server.", logDetail: "\(error)"))
        }
    }

    /// What is thrown.
    public var error: any Error {
        switch self {
        case .error(let error): error
        case .upstream(let failure): failure
        case .mirror(let refusal): refusal
        case .configuration(let problem): problem
        case .cancelled: CancellationError()
        case .snapshotRestarted: SnapshotRestarted()
        }
    }

    public var message: WireValue {
        switch self {
        case .error(let error):
            .named(
                "error",
                .map(
                    ("code", .string(error.code.rawValue)), ("message", error.message.message),
                    ("target", error.target?.message), ("retryAfter", error.retryAfter?.message),
                    ("logDetail", error.logDetail?.message)))
        case .upstream(let failure):
            .named(
                "upstream",
                .map(
                    ("upstream", failure.upstream.message), ("kind", failure.kind.message),
                    ("detail", failure.detail.message)))
        case .mirror(let refusal):
            .named("mirror", .map(("kind", refusal.kind.message), ("detail", refusal.detail.message)))
        case .configuration(let problem):
            .named("configuration", .map(("path", problem.path.message), ("message", problem.message.message)))
        case .cancelled: "cancelled"
        case .snapshotRestarted: "snapshotRestarted"
        }
    }

    /// Texts are cut to ``textBytes`` and ``detailBytes``: they go to callers, and to the log each time.
    public init(message: WireValue) throws {
        func short(_ text: String) -> String { text.cut(toBytes: Self.textBytes) }
        func detail(_ text: String) -> String { text.cut(toBytes: Self.detailBytes) }
        let one = try MessageCase(message)
        switch one.name {
        case "error":
            let map = try one.map
            self = .error(
                PorticoError(
                    try map("code", as: CodeText.self).code, short(try map("message")),
                    target: try map.optional("target").map(short), retryAfter: try map.optional("retryAfter"),
                    logDetail: try map.optional("logDetail").map(detail)))
        case "upstream":
            self = .upstream(
                UpstreamFailure(
                    try one.map("kind"), of: try one.map("upstream"), detail: detail(try one.map("detail", default: ""))
                ))
        case "mirror": self = .mirror(MirrorRefusal(try one.map("kind"), detail(try one.map("detail", default: ""))))
        case "configuration":
            self = .configuration(ConfigurationProblem(short(try one.map("path")), short(try one.map("message"))))
        case "cancelled": self = .cancelled
        case "snapshotRestarted": self = .snapshotRestarted
        default: throw one.unknown
        }
    }
}

extension CrossingError {
    /// Bytes of what callers and operators are shown.
    public static let textBytes = 2_048
    /// Bytes of what the log gets.
    public static let detailBytes = 8_192
}

extension String {
    /// The text, or its beginning and an ellipsis where it is longer.
    public func cut(toBytes count: Int) -> String {
        utf8.count <= count ? self : String(decoding: utf8.prefix(count), as: UTF8.self) + " …"
    }
}

/// The store breaks the reads of a snapshot off and begins them again: the body runs once more.
public struct SnapshotRestarted: Error {
    /// Creates the error.
    public init() {}
}
