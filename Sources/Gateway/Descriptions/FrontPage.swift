import AdapterKit
import HTTPTypes

/// `GET /`: what is served here, for people.
struct FrontPageEndpoint: Endpoint {
    let adapters: [ServedAdapter]
    let pages: [PageFile]
    let version: String

    let properties = EndpointProperties(name: "frontPage", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "What is served here, for people.", tag: "Gateway", answers: [(.ok, .document(mediaType: "text/html"))]
    )

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        var sections: [HTML] = []
        for served in adapters { sections.append(await section(served)) }
        let principal = request.caller.principal
        return GatewayResponse(
            page: page([entries].compactMap(\.self) + sections, principal), isPrivate: !principal.isAnonymous)
    }

    private func page(_ sections: [HTML], _ principal: Principal) -> HTML {
        HTML.document(
            title: "Portico",
            body: [
                .element("h1", "Portico"),
                .element(
                    "p", "One gateway for every backend behind it: each resource in JSON, property lists and XML."),
                .element("p", account(principal)),
                .element("div", [.init("class", "cards")], sections),
                .element(
                    "nav", [.init("aria-label", "About this gateway")],
                    [
                        .link("/openapi.json", "OpenAPI description"), .text(" · "), .link("/health/ready", "Health"),
                        .text(" · Version \(version)"),
                    ]),
            ])
    }

    private func account(_ principal: Principal) -> [HTML] {
        guard !principal.isAnonymous else { return [.link(SignInPage.path, "Sign in")] }
        return [
            .text("You are signed in as \(principal.displayName). "), .link(SignInPage.path, "Sign out"),
        ]
    }

    /// Pages whose adapter is not served are not there.
    private var entries: HTML? {
        let items = pages.compactMap { page -> HTML? in
            guard let entry = page.entry, entry.adapter.map(isServed) ?? true else { return nil }
            return .element("li", .link(page.path.description, entry.title), .text(" — \(entry.summary)"))
        }
        guard !items.isEmpty else { return nil }
        return .element(
            "section", [.init("class", "first")],
            [.element("h2", "To try"), .element("p", "Pages that work in this browser."), .element("ul", items)])
    }

    private func isServed(_ adapter: AdapterName) -> Bool {
        adapters.contains { $0.declaration.name == adapter }
    }

    /// An adapter whose listings fail is listed without them; the page is for finding one's way when things break too.
    private func section(_ served: ServedAdapter) async -> HTML {
        guard served.status.isRunning else {
            return .element(
                "section", .element("h2", .text(served.declaration.title)),
                .element("p", .text(served.declaration.summary)), .element("p", "Not available at the moment."))
        }
        let listings = (try? await served.adapter.frontPageEntries()) ?? []
        var items = listings.map { HTML.element("li", .link($0.path, $0.title), .text(" — \($0.summary)")) }
        for entity in served.declaration.entities where entity.exposure == .resource {
            let path = "/api/v1/\(served.declaration.name)/\(entity.name)"
            if listings.contains(where: { $0.path == path }) { continue }
            items.append(
                .element(
                    "li", .link(path, entity.name.text),
                    .text(" — \(entity.summary) Written by \(AccessWords.phrase(.writes, entity, served))")))
        }
        return .element(
            "section", .element("h2", .text(served.declaration.title)),
            .element("p", .text(served.declaration.summary)),
            .element("ul", items))
    }
}
