import AdapterKit
import HTTPTypes

/// Failures of a route, as a description has them. The failures that every operation of its kind may have are ranges
/// of statuses, `4XX` and `5XX` (OpenAPI 3.1, section 4.8.16), each with the list of them; the others stand singly.
struct DescribedFailures {
    enum Form {
        case presentation(ErrorPresentation)
        /// In a shape that the endpoint's contract has.
        case own(mediaType: String)
    }

    struct Range {
        let key: String
        let name: String
        let statuses: [HTTPResponse.Status]
    }

    let form: Form
    let single: [HTTPResponse.Status]
    let ranges: [Range]

    init(_ route: Route) {
        let description = route.endpoint.description
        let all = Self.statuses(Self.errors(route))
        let usual = description.areFailuresOfKind ? all : Self.statuses(Self.usual(route))
        form =
            description.ownFailures.map { .own(mediaType: $0) }
            ?? .presentation(route.endpoint.properties.presentation.errors)
        single = all.filter { !usual.contains($0) }
        let isRead = route.endpoint.properties.effect == .reads
        let kind = description.areFailuresOfKind && description.ownFailures == nil ? isRead ? "Reading" : "Writing" : ""
        let body = description.body == nil ? "" : "WithBody"
        ranges = [
            Range(key: "4XX", name: "Refused" + kind + body, statuses: usual.filter { $0.code < 500 }),
            Range(key: "5XX", name: "Failed" + kind, statuses: usual.filter { $0.code >= 500 }),
        ]
    }

    /// The beginning of names of answers in this form.
    var prefix: String {
        switch form {
        case .presentation(.standard): ""
        case .presentation(.flat): "Flat"
        case .own: "Own"
        }
    }

    /// The endpoint's own, and what its kind brings along.
    static func errors(_ route: Route) -> Set<ErrorCode> { route.endpoint.description.errors.union(usual(route)) }

    private static func usual(_ route: Route) -> Set<ErrorCode> {
        var errors: Set<ErrorCode> = [
            .requestMalformed, .notAcceptable, .requestURITooLong, .requestHeadersTooLarge, .serverInternal,
            .overloaded, .deadlineExceeded, .credentialsInvalid, .loginThrottled, .accessDenied,
        ]
        if !route.endpoint.properties.access.isPublic(route.effect) { errors.insert(.loginRequired) }
        if route.endpoint.description.body != nil {
            errors.formUnion([.requestInvalid, .requestTooLarge, .unsupportedMediaType, .requestTimeout])
        }
        return errors
    }

    private static func statuses(_ errors: Set<ErrorCode>) -> [HTTPResponse.Status] {
        Dictionary(errors.map { ($0.status.code, $0.status) }, uniquingKeysWith: { first, _ in first }).values
            .sorted { $0.code < $1.code }
    }
}
