import AdapterKit
import Identity

/// The page on which people sign in: plain HTML that works by keyboard, without scripts and in any browser.
struct SignInPage: Sendable {
    static let path = "/auth/login"

    static func address(leadingTo next: LocalPath) -> String {
        next == .front ? path : "\(path)?next=\(PercentEncoding.encode(next.text))"
    }

    /// Sent back with the form (``SignInForm``).
    let token: Secret
    let next: LocalPath
    var username = ""
    /// The problem of the attempt before.
    var problem: String?
    /// Where one may sign in instead.
    var providers: [ProviderName] = []

    var html: HTML {
        .document(
            title: "Sign in", .init(account: .group([])),
            body: [.element("h1", "Sign in"), purpose, alert, form, elsewhere].compactMap(\.self))
    }

    private var elsewhere: HTML? {
        guard !providers.isEmpty else { return nil }
        let back = PercentEncoding.encode(next.text)
        return .element(
            "ul",
            [
                HTML.Attribute("aria-label", "Other ways to sign in")
            ],
            providers.map { provider in
                .element("li", .link("/auth/oidc/\(provider)/login?return=\(back)", "Sign in with \(provider)"))
            })
    }

    private var purpose: HTML? {
        guard next != .front else { return nil }
        return .element("p", [.init("class", "note")], [.text("Then you go on to \(next.text).")])
    }

    private var alert: HTML? {
        problem.map { .element("p", [.init("role", "alert"), .init("id", "problem")], [.text($0)]) }
    }

    private var form: HTML {
        .element(
            "form", [.init("class", "narrow card"), .init("method", "post"), .init("action", Self.path)],
            [
                .input("hidden", "csrf", value: token.reveal()), .input("hidden", "next", value: next.text),
                field("username", "Name", type: "text", autocomplete: "username", value: username),
                field("password", "Password", type: "password", autocomplete: "current-password", value: ""),
                .element(
                    "p", [.init("class", "row")],
                    [.element("button", [.init("type", "submit"), .init("class", "main")], ["Sign in"])]),
            ])
    }

    /// The first field that is empty has the keyboard.
    private func field(_ name: String, _ label: HTML, type: String, autocomplete: String, value: String) -> HTML {
        var attributes: [HTML.Attribute] = [
            .init("id", name), .init("autocomplete", autocomplete), .init("required"), .init("maxlength", "256"),
        ]
        if problem != nil { attributes.append(.init("aria-describedby", "problem")) }
        if username.isEmpty == (name == "username") { attributes.append(.init("autofocus")) }
        return .element(
            "p", .element("label", [.init("for", name)], [label]),
            .input(type, name, value: value, attributes))
    }
}

/// The sign-in page of a caller that is signed in.
struct SignedInPage: Sendable {
    let name: String
    let next: LocalPath

    var html: HTML {
        .document(
            title: "Signed in", .init(account: .group([])),
            body: [
                .element("h1", "Signed in"), .element("p", .text("You are signed in as \(name).")),
                .element("p", .link(next.text, next == .front ? "What is served here" : "Go on to \(next.text)")), form,
            ])
    }

    private var form: HTML {
        .element(
            "form", [.init("method", "post"), .init("action", "/auth/logout")],
            [
                .element(
                    "p", .input("checkbox", "everywhere", value: "true", [.init("id", "everywhere")]),
                    .element("label", [.init("for", "everywhere")], ["On every device"])),
                .input("hidden", "page", value: "true"),
                .element("p", .element("button", [.init("type", "submit")], ["Sign out"])),
            ])
    }
}

/// An address on this server, to which a browser may be sent after signing in: nothing that it would take for another
/// server's.
struct LocalPath: Sendable, Equatable {
    static let front = LocalPath(unchecked: "/")
    /// Longer ones are not remembered.
    static let maximumBytes = 2_048

    let text: String

    /// Nil for what does not begin with one slash, and for anything with a backslash, which browsers read as a slash, or
    /// a control character, which they skip (the URL Standard, sections 4.1 and 4.4).
    init?(_ text: String) {
        guard text.hasPrefix("/"), !text.hasPrefix("//"), text.utf8.count <= Self.maximumBytes,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }
}
