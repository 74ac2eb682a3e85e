import AdapterKit
import HTTPTypes
import ValueTree

/// A value as a page for people, where nothing says what it is a value of. It runs no script.
struct ValuePage: Sendable {
    let value: WireValue
    let links: FormatLinks

    var html: HTML {
        .document(
            title: links.target.path, .init(isWide: true),
            body: [
                .element("h1", .text(links.target.path)), ValueMarkup.content(value, 0), next, links.html,
            ].compactMap(\.self))
    }

    /// The following page of a list.
    private var next: HTML? {
        guard let cursor = value.dictionaryValue?["next"]?.stringValue else { return nil }
        return .element("p", .link(links.target.address(setting: [("cursor", cursor)]), "Next page"))
    }
}

/// A failure as a page for people.
struct ErrorPage: Sendable {
    let error: PorticoError
    let requestID: String
    /// The path that was asked for, to come back to after signing in.
    let path: LocalPath?

    var html: HTML {
        .document(
            title: "\(error.code.status.code) \(error.code.status.reasonPhrase)",
            body: [
                .element("h1", .text(error.code.status.reasonPhrase)),
                .element("p", [.init("role", "alert")], [.text(error.message)]), signIn,
                .element(
                    "p", [.init("class", "note")],
                    [
                        .link(ErrorCodeLink(error.code).path, error.code.rawValue),
                        .text(" · request \(requestID)"),
                    ]),
            ].compactMap(\.self))
    }

    private var signIn: HTML? {
        guard error.code.status == .unauthorized else { return nil }
        return .element("p", .link(SignInPage.address(leadingTo: path ?? .front), "Sign in"))
    }
}
