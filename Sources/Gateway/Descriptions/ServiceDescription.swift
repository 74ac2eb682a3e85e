import AdapterKit
import ValueTree

/// A description of the gateway as a whole: its address, and texts for its parts.
struct ServiceDescription: Sendable {
    let version: String
    /// `http.publicURL`; empty: where the description was asked for.
    let publicURL: String
    /// Titles and summaries of the adapters.
    let adapters: [(title: String, summary: String)]
    /// ``DescribedAdapters/value``.
    let entities: WireValue

    init(of adapters: [ServedAdapter], version: String, publicURL: String) {
        self.version = version
        self.publicURL = publicURL
        entities = DescribedAdapters(adapters: adapters).value
        self.adapters = adapters.map { ($0.declaration.title, $0.declaration.summary) }
    }

    var server: String { publicURL.isEmpty ? "/" : publicURL }

    var info: WireValue {
        [
            "title": "Portico", "version": .string(version),
            "summary": "One gateway for every backend behind it.",
            "description": """
            Sign in with `POST /auth/login` and send the token as `Authorization: Bearer`; a browser has the session cookie.

            Bodies and answers are described in JSON. The same values are read and written as XML, property lists, binary \
            property lists and CBOR, by `Content-Type` and `Accept`; `/openapi.json?formats=all` describes each of them.

            A failure has a code that never changes its meaning, a message for people and the id of the request. `4XX` and \
            `5XX` stand for the failures that every operation may have; `x-portico-statuses` lists their statuses.

            `x-portico-effect` says whether a call reads or writes, `x-portico-adapter` to which adapter it belongs.
            """,
        ]
    }

    /// Tags that the routes name, in their order. Adapters of one title share a tag.
    func tags(of routes: [Route]) -> WireValue {
        var summaries: [String: [String]] = [:]
        for adapter in adapters { summaries[adapter.title, default: []].append(adapter.summary) }
        var seen: Set<String> = []
        let tags = routes.map(\.endpoint.description.tag).filter { seen.insert($0).inserted }.sorted()
        return .array(
            tags.map { tag in
                let texts = summaries[tag] ?? Self.own[tag].map { [$0] } ?? []
                return ["name": .string(tag), "description": .string(texts.joined(separator: " "))]
            })
    }

    private static let own = [
        "Gateway": "Descriptions, pages, and several calls in one request.",
        "Health": "Whether the gateway works, for those who watch it.",
        "Sign-in": "Signing in and out, one's own sign-ins, API keys and password.",
        "Sync": "Copies of records on devices, which work without a network, and attachments.",
    ]
}
