import AdapterKit
import HTTPTypes

/// `GET /errors` and `GET /errors/{code}`: what the error codes mean, for people who got one (``ErrorCodeLink``).
enum ErrorCodePages {
    static var routes: [Route] {
        [
            Route(.get, PathTemplate(stringLiteral: ErrorCodeLink.folder), ErrorCodeIndex()),
            Route(.get, PathTemplate(stringLiteral: "\(ErrorCodeLink.folder)/{code}"), ErrorCodePage()),
        ]
    }
}

private struct ErrorCodeIndex: Endpoint {
    let properties = EndpointProperties(name: "errors", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "The error codes, for people.", tag: "Gateway", answers: [(.ok, .document(mediaType: "text/html"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let items = ErrorExplanation.all.map { each in
            HTML.element(
                "li", .link(ErrorCodeLink(each.code).path, each.code.rawValue), " — ", .markdown(each.meaning))
        }
        return GatewayResponse(
            page: .document(
                title: "Error codes",
                body: [
                    .element("h1", "Error codes"),
                    .element("p", "Every error of every interface has one of these codes."), .element("ul", items),
                ]))
    }
}

private struct ErrorCodePage: Endpoint {
    let properties = EndpointProperties(name: "errors.code", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "What an error code means, for people.", tag: "Gateway",
        answers: [(.ok, .document(mediaType: "text/html"))], errors: [.routeNotFound])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        guard let code = ErrorCode(rawValue: request.parameters["code"] ?? "") else {
            throw PorticoError(.routeNotFound, "There is no such error code. \(ErrorCodeLink.folder) lists them.")
        }
        let explanation = ErrorExplanation(code)
        return GatewayResponse(
            page: .document(
                title: code.rawValue,
                body: [
                    .element("h1", .text(code.rawValue)), .element("p", .markdown(explanation.meaning)),
                    .element("h2", "The caller can"), .element("p", .markdown(explanation.caller)),
                    .element("h2", "The operator can"), .element("p", .markdown(explanation.operation)),
                    .element(
                        "p", [.init("class", "note")],
                        [.text("HTTP status \(explanation.status) · "), .link(ErrorCodeLink.folder, "all codes")]),
                ]))
    }
}

extension HTML {
    /// Text with code between backticks, and links of which the words are shown.
    fileprivate static func markdown(_ text: String) -> HTML {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return .group(
            parts.enumerated().map { index, part in
                index.isMultiple(of: 2) ? .text(withoutLinks(part)) : .code(String(part))
            })
    }

    /// `[words](address)` without the address.
    private static func withoutLinks(_ text: Substring) -> String {
        String(text.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.output.1 })
    }
}
