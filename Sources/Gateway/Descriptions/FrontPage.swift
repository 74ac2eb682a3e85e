import AdapterKit
import HTTPTypes

/// `GET /`: what is served here, for people.
struct FrontPageEndpoint: Endpoint {
    let adapters: [ServedAdapter]
    let version: String

    let properties = EndpointProperties(name: "frontPage", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "What is served here, for people.", tag: "Gateway", answers: [(.ok, .document(mediaType: "text/html"))]
    )

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        var sections: [HTML] = []
        for served in adapters { sections.append(await section(served)) }
        return GatewayResponse(page: page(sections))
    }

    private func page(_ sections: [HTML]) -> HTML {
        HTML.document(
            title: "Portico",
            body: [
                .element("h1", "Portico"),
                .element(
                    "p", "One gateway for every backend behind it: each resource in JSON, property lists and XML."),
            ] + sections + [
                .element(
                    "nav", .link(SignInPage.path, "Sign in"), .text(" · "),
                    .link("/openapi.json", "OpenAPI description"), .text(" · "), .link("/health/ready", "Health"),
                    .text(" · Version \(version)"))
            ])
    }

    /// An adapter whose listings fail is listed without them; the page is for finding one's way when things break too.
    private func section(_ served: ServedAdapter) async -> HTML {
        guard served.status.isRunning else {
            return .element(
                "section", .element("h2", .text(served.declaration.title)),
                .element("p", .text(served.declaration.summary)), .element("p", "Not available at the moment."))
        }
        let listings = (try? await served.adapter.listings()) ?? []
        var items = listings.map { HTML.element("li", .link($0.path, $0.title), .text(" — \($0.summary)")) }
        for entity in served.declaration.entities where entity.exposure == .resource {
            let path = "/api/v1/\(served.declaration.name)/\(entity.name)"
            if listings.contains(where: { $0.path == path }) { continue }
            items.append(.element("li", .link(path, entity.name.text), .text(" — \(entity.summary)")))
        }
        return .element(
            "section", .element("h2", .text(served.declaration.title)),
            .element("p", .text(served.declaration.summary)),
            .element("ul", items))
    }
}
