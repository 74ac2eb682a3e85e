import AdapterKit
import HTTPTypes
import ValueTree
import WireFormats

/// `GET /`: what is served here, for people, ordered by who needs it: pages to work with, what a program's author begins
/// with, then every adapter with its entities folded in. A program that names one of the wire formats gets the same as a
/// value.
struct FrontPageEndpoint: Endpoint {
    let services: GatewayServices
    let adapters: [ServedAdapter]
    let pages: [PageFile]
    let version: String
    /// Where callers reach the gateway; empty: wherever they do.
    let publicURL: String
    let allowsBasic: Bool

    let properties = EndpointProperties(name: "frontPage", access: .public, effect: .reads)
    let description = EndpointDescription(
        summary: "What is served here: a page for people, and the same for programs.", tag: "Gateway",
        answers: [(.ok, .value(.object(FrontPageValue.shape))), (.ok, .document(mediaType: "text/html"))])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        if let answer = try valueResponse(to: request.request) { return answer }
        var sections: [AdapterSection] = []
        for served in adapters { sections.append(await AdapterSection(of: served)) }
        let principal = request.caller.principal
        let origin = publicURL.isEmpty ? request.request.origin : publicURL
        let calls = FirstCalls(
            adapters: adapters, principal: principal, origin: origin, allowsBasic: allowsBasic)
        let page = HTML.document(
            title: "Portico",
            HTML.Frame(account: account(principal), module: calls.isEmpty ? nil : "/pages/elements.js"),
            body: [heading, apps, developers(calls), adapterList(sections), about].compactMap(\.self))
        var response = GatewayResponse(
            page: page, isPrivate: !principal.isAnonymous, allowsModules: !calls.isEmpty)
        response.headers[.vary] = ResponseEncoder.vary
        return response
    }

    /// Nil where a page is wanted: by a person, by who names pages, and by who names nothing.
    private func valueResponse(to request: GatewayRequest) throws -> GatewayResponse? {
        let accept = request.headers.text(.accept)
        let isNamed = MediaRange.list(accept ?? "").contains { $0.quality > 0 && !$0.type.essence.contains("*") }
        guard !request.isForPerson, request.target["format"] != nil || isNamed && PagePreference(accept: accept) == nil
        else { return nil }
        let value = FrontPageValue(
            version: version, adapters: adapters, pages: entries(for: .users) + entries(for: .developers))
        func write() throws -> GatewayResponse {
            try services.encoder.write(
                value.value, to: request, presentation: Presentation(), shape: .object(FrontPageValue.shape),
                validators: nil)
        }
        // Who names no format of values gets the page.
        return request.target["format"] == nil ? try? write() : try write()
    }

    private var heading: HTML {
        .group([
            .element("h1", "What is served here"),
            .element(
                "p", [.init("class", "lead")],
                ["One sign-in for every system behind this gateway, and each record in the format that you ask for."]),
        ])
    }

    // MARK: who is signed in

    /// One's own name, which leads to the page of the account, and the way out; or the way in.
    private func account(_ principal: Principal) -> HTML {
        guard !principal.isAnonymous else {
            return .element(
                "div", [.init("class", "account")],
                [.link(SignInPage.path, [.init("class", "button main")], ["Sign in"])])
        }
        let own = entries(for: .account).first?.path.description ?? SignInPage.path
        return .element(
            "div", [.init("class", "account")],
            [
                .link(own, [.init("class", "who"), .init("title", "Your account")], [.text(principal.displayName)]),
                .element(
                    "form", [.init("method", "post"), .init("action", "/auth/logout")],
                    [
                        .input("hidden", "page", value: "true"),
                        .element("button", [.init("class", "quiet")], ["Sign out"]),
                    ]),
            ])
    }

    // MARK: pages

    /// Pages whose adapter is not served are not there.
    private func entries(for audience: PageFile.Entry.Audience) -> [PageFile] {
        pages.filter { page in
            guard let entry = page.entry, entry.audience == audience else { return false }
            return entry.adapter.map { name in adapters.contains { $0.declaration.name == name } } ?? true
        }
    }

    private func cards(_ audiences: [PageFile.Entry.Audience]) -> [HTML] {
        audiences.flatMap(entries).compactMap { page in
            page.entry.map { Self.card(page.path.description, $0.title, $0.summary) }
        }
    }

    private static func card(_ path: String, _ title: String, _ summary: String) -> HTML {
        .element("li", .link(path, title), .element("p", .text(summary)))
    }

    private var apps: HTML? {
        let cards = cards([.users, .account])
        guard !cards.isEmpty else { return nil }
        return .element(
            "section", .element("h2", "To work with"), .element("ul", [.init("class", "cards")], cards))
    }

    // MARK: for developers

    private func developers(_ calls: FirstCalls) -> HTML {
        let cards =
            cards([.developers]) + [
                Self.card("/openapi.json", "OpenAPI", "The description that generators of clients take."),
                Self.card(ErrorCodeLink.folder, "Error codes", "What each failure means, and what to do about it."),
            ]
        return .element(
            "section",
            [.element("h2", "To build with"), .element("ul", [.init("class", "cards")], cards)] + calls.html)
    }

    // MARK: adapters

    private func adapterList(_ sections: [AdapterSection]) -> HTML {
        let body =
            sections.isEmpty
            ? HTML.element("p", [.init("class", "nothing")], ["No adapter is served."])
            : HTML.element("div", [.init("class", "folds")], sections.map { $0.html(isOpen: sections.count == 1) })
        return .element("section", .element("h2", "Behind this gateway"), body)
    }

    private var about: HTML {
        .element(
            "nav", [.init("class", "note"), .init("aria-label", "About this gateway")],
            [.element("p", .link("/health/ready", "Health"), .text(" · Version \(version)"))])
    }
}

/// The services, for programs. The same for every caller.
private struct FrontPageValue {
    let version: String
    let adapters: [ServedAdapter]
    let pages: [PageFile]

    private static let link = ObjectShape(
        "FrontPageLink",
        members: [
            Member("name", .string, isRequired: true), Member("path", .string, isRequired: true),
            Member("summary", .string, isRequired: true),
        ])

    static let shape = ObjectShape(
        "FrontPage",
        members: [
            Member("version", .string, isRequired: true),
            Member("links", .list(of: .object(link)), isRequired: true, summary: "Where a program begins."),
            Member(
                "adapters",
                .list(
                    of: .object(
                        ObjectShape(
                            "FrontPageAdapter",
                            members: [
                                Member("name", .string, isRequired: true), Member("title", .string, isRequired: true),
                                Member("summary", .string, isRequired: true),
                                Member("entities", .list(of: .object(link)), isRequired: true),
                            ]))), isRequired: true),
        ])

    var value: WireValue {
        let links =
            [
                Self.link("openapi", "/openapi.json", "The description that generators of clients take."),
                Self.link("signIn", "/auth/login", "Where a name and a password are exchanged for tokens."),
                Self.link("errors", ErrorCodeLink.folder, "What each failure means, and what to do about it."),
            ]
            + pages.compactMap { page in
                page.entry.map { Self.link($0.title, page.path.description, $0.summary) }
            }
        return [
            "version": .string(version), "links": .array(links), "adapters": .array(adapters.map(Self.adapter)),
        ]
    }

    private static func adapter(_ served: ServedAdapter) -> WireValue {
        let declaration = served.declaration
        let entities = declaration.entities.filter { $0.exposure == .resource }.map { entity in
            link(
                entity.name.text, RecordAddresses(declaration: declaration, entity: entity).collection, entity.summary)
        }
        return [
            "name": .string(declaration.name.text), "title": .string(declaration.title),
            "summary": .string(declaration.summary), "entities": .array(entities),
        ]
    }

    private static func link(_ name: String, _ path: String, _ summary: String) -> WireValue {
        ["name": .string(name), "path": .string(path), "summary": .string(summary)]
    }
}

/// An adapter on the front page: a line that unfolds to what can be opened of it.
private struct AdapterSection {
    let served: ServedAdapter
    let links: [HTML]
    let count: String

    /// An adapter whose listings fail is listed without them: the page is for finding one's way when things break too.
    init(of served: ServedAdapter) async {
        self.served = served
        guard served.status.isRunning else {
            (links, count) = ([], "")
            return
        }
        let listings = (try? await served.adapter.frontPageEntries()) ?? []
        let entities = served.declaration.entities.filter { entity in
            entity.exposure == .resource && !listings.contains { $0.path == Self.path(entity, served) }
        }
        links =
            listings.map { .element("li", .link($0.path, $0.title), .text(" — \($0.summary)")) }
            + entities.map { entity in
                .element(
                    "li", .link(Self.path(entity, served), entity.name.text),
                    .text(" — \(entity.summary) Written by \(AccessWords.phrase(.writes, entity, served))"))
            }
        count = links.isEmpty ? "" : links.count == 1 ? "1 address" : "\(links.count) addresses"
    }

    private static func path(_ entity: Entity, _ served: ServedAdapter) -> String {
        RecordAddresses(declaration: served.declaration, entity: entity).collection
    }

    func html(isOpen: Bool) -> HTML {
        let isRunning = served.status.isRunning
        let line = [
            HTML.element("span", [.init("class", "name")], [.text(served.declaration.title)]),
            .element("span", [.init("class", "about")], [.text(served.declaration.summary)]),
            isRunning
                ? .element("span", [.init("class", "count")], [.text(count)])
                : .element("span", [.init("class", "off")], ["Not available at the moment."]),
        ]
        let id = HTML.Attribute("id", served.frontPageAnchor)
        guard !links.isEmpty else { return .element("p", [id], line) }
        return .element(
            "details", isOpen ? [id, .init("open")] : [id], [.element("summary", line), .element("ul", links)])
    }
}

extension ServedAdapter {
    fileprivate var frontPageAnchor: String { "adapter-\(declaration.name)" }

    /// Its title, which leads to its place on the front page.
    var frontPageLink: HTML { .link("/#\(frontPageAnchor)", declaration.title) }
}

/// Calls that work as they stand, to copy: one without a sign-in where something is public, one with.
private struct FirstCalls {
    private let calls: [(words: String, code: String)]

    var isEmpty: Bool { calls.isEmpty }

    init(adapters: [ServedAdapter], principal: Principal, origin: String, allowsBasic: Bool) {
        let lists = adapters.filter(\.status.isRunning).flatMap { served in
            served.declaration.entities.filter { $0.exposure == .resource }.map { entity in
                (
                    path: RecordAddresses(declaration: served.declaration, entity: entity).collection,
                    readers: served.declaration.readers(of: entity)
                )
            }
        }
        let visitor = Principal.anonymous
        var calls: [(words: String, code: String)] = []
        if let open = lists.first(where: { $0.readers.decision(for: visitor) == .allowed }) {
            calls.append(("Without a sign-in:", "curl \(Self.quoted("\(origin)\(open.path)?limit=3"))"))
        }
        let own = lists.first { list in
            guard list.readers.decision(for: visitor) != .allowed else { return false }
            return principal.isAnonymous
                ? list.readers == .login : list.readers.decision(for: principal) == .allowed
        }
        if let own {
            let name = principal.isAnonymous ? "NAME" : principal.name
            let address = Self.quoted("\(origin)\(own.path)?limit=3")
            if allowsBasic {
                calls.append(("With a sign-in; curl asks for the password:", "curl -u \(Self.quoted(name)) \(address)"))
            } else {
                calls.append(
                    (
                        "With a sign-in, by the access token of the first answer:",
                        """
                        curl \(Self.quoted("\(origin)/auth/login")) -d \(Self.quoted("username=\(name)")) -d 'password=PASSWORD'
                        curl -H 'Authorization: Bearer TOKEN' \(address)
                        """
                    ))
            }
        }
        self.calls = calls
    }

    /// As one word of a shell.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            let scalar = Unicode.Scalar(byte)
            return scalar.properties.isAlphabetic && scalar.isASCII || "0123456789._-".unicodeScalars.contains(scalar)
        }
        return isPlain && !text.isEmpty ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }

    var html: [HTML] {
        guard !isEmpty else { return [] }
        return [.element("h3", "A first call")]
            + calls.flatMap { call in
                [
                    HTML.element("p", [.init("class", "hint")], [.text(call.words)]),
                    .element("portico-code", .element("pre", [.init("tabindex", "0")], [.code(call.code)])),
                ]
            }
    }
}
