import AdapterKit
import Crypto

/// Text that is HTML. Plain text gets in only through ``text(_:)``, which escapes it.
struct HTML: Sendable, ExpressibleByStringLiteral {
    let text: String

    init(stringLiteral value: String) {
        self = .text(value)
    }

    private init(markup: String) {
        text = markup
    }

    static func text(_ plain: String) -> HTML {
        var escaped = ""
        for scalar in plain.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return HTML(markup: escaped)
    }

    static func element(_ name: StaticString, _ content: HTML...) -> HTML {
        element(name, content)
    }

    static func element(_ name: StaticString, _ content: [HTML]) -> HTML {
        HTML(markup: "<\(name)>\(content.map(\.text).joined())</\(name)>\n")
    }

    /// An attribute, its value escaped; without one, an attribute that is simply there.
    struct Attribute: Sendable {
        let text: String

        init(_ name: StaticString, _ value: String) {
            text = " \(name)=\"\(HTML.text(value).text)\""
        }

        init(_ name: StaticString) {
            text = " \(name)"
        }
    }

    static func element(_ name: StaticString, _ attributes: [Attribute], _ content: [HTML]) -> HTML {
        HTML(markup: "<\(name)\(attributes.map(\.text).joined())>\(content.map(\.text).joined())</\(name)>\n")
    }

    static func input(_ type: String, _ name: String, value: String, _ attributes: [Attribute] = []) -> HTML {
        let all = [Attribute("type", type), Attribute("name", name), Attribute("value", value)] + attributes
        return HTML(markup: "<input\(all.map(\.text).joined())>\n")
    }

    /// To a path of this server; anything else becomes plain text.
    static func link(_ path: String, _ title: String) -> HTML {
        guard isLocal(path) else { return .text(title) }
        return HTML(markup: "<a href=\"\(HTML.text(path).text)\">\(HTML.text(title).text)</a>")
    }

    /// As ``link(_:_:)``, with attributes.
    static func link(_ path: String, _ attributes: [Attribute], _ content: [HTML]) -> HTML {
        guard isLocal(path) else { return .group(content) }
        return element("a", [Attribute("href", path)] + attributes, content)
    }

    // Browsers leave out control characters, and what follows decides (URL Standard, section 4.4).
    private static func isLocal(_ path: String) -> Bool {
        path.utf8.allSatisfy { $0 > 0x20 && $0 != 0x5C && $0 != 0x7F }
            && path.utf8.starts(with: "/".utf8) && !path.utf8.starts(with: "//".utf8)
    }

    static func code(_ plain: String) -> HTML { HTML(markup: "<code>\(HTML.text(plain).text)</code>") }

    static func group(_ parts: [HTML]) -> HTML { HTML(markup: parts.map(\.text).joined()) }

    /// Content that may be wider than a phone. It scrolls by keyboard too, which needs the focus and a name.
    static func scrolling(_ content: HTML, label: String = "Table") -> HTML {
        element(
            "div",
            [.init("class", "scroll"), .init("tabindex", "0"), .init("role", "region"), .init("aria-label", label)],
            [content])
    }

    static let mediaType = "text/html; charset=utf-8"

    /// The parts of a page beside its content.
    struct Frame: Sendable {
        /// Tables take the width that there is; text does not.
        var isWide = false
        /// The right side of the head: who is signed in; nil: the way to where that is said, on pages that are the same for
        /// several callers.
        var account: HTML?
        /// A module of ``PageFile/base`` that the page runs; only pages that show no record have one.
        var module: String?
    }

    static func document(title: String, _ frame: Frame = Frame(), body: [HTML]) -> HTML {
        let module = frame.module.map { "\n<script type=\"module\" src=\"\(HTML.text($0).text)\"></script>" } ?? ""
        return HTML(
            markup: """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>\(HTML.text(title).text)</title>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml">
                <style>\(style)</style>\(module)
                </head>
                <body>
                <a class="skip" href="#content">Skip to the content</a>
                <header><a class="home" href="/">Portico</a>\((frame.account ?? wayToAccount).text)</header>
                <main id="content" tabindex="-1"\(frame.isWide ? " class=\"wide\"" : "")>
                \(body.map(\.text).joined())</main>
                </body>
                </html>

                """)
    }

    private static let wayToAccount = element(
        "div", [.init("class", "account")], [.link(SignInPage.path, [.init("class", "button")], ["Account"])])

    /// For pages that are made here: their one style, by its hash, the icon, and nothing else; modules where
    /// ``Frame/module`` names one.
    static func contentSecurityPolicy(allowsModules: Bool) -> String {
        """
        default-src 'none'; \(allowsModules ? "script-src 'self'; " : "")\
        style-src 'sha256-\(String(decoding: Base64.encode(styleDigest), as: UTF8.self))'; \
        img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """
    }

    private static let styleDigest = Array(SHA256.hash(data: PackageResources.base_css))

    /// In the entity tags of pages that browsers keep: a page that was kept with another style would not be shown with it, since
    /// the policy of the answer that revalidates it names this one.
    static let variant = "page-\(Hexadecimal.text(styleDigest.prefix(4)))"

    /// The style that all pages share. Texts have a contrast of 7 to 1 at least (WCAG 2.2, 1.4.6), in light and in dark.
    private static let style = String(decoding: PackageResources.base_css, as: UTF8.self)
}
