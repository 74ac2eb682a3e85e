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
        guard path.hasPrefix("/"), !path.hasPrefix("//") else { return .text(title) }
        return HTML(markup: "<a href=\"\(HTML.text(path).text)\">\(HTML.text(title).text)</a>")
    }

    static func document(title: String, body: [HTML]) -> HTML {
        HTML(
            markup: """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>\(HTML.text(title).text)</title>
                <style>\(style)</style>
                </head>
                <body>
                <main>
                \(body.map(\.text).joined())</main>
                </body>
                </html>

                """)
    }

    /// For pages that are made here: their one style and nothing else. The hash is that of ``style``.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'sha256-oTVGUqWjnQi9DCc/+iqF+ClX26FE08Q1rC18vOYrKH8='; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let style = """
        :root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
        body{margin:0}main{max-width:44rem;margin:0 auto;padding:2rem 1rem}
        h1{margin:0 0 .5rem}h2{margin:2rem 0 .25rem;font-size:1.2rem}
        form p{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;max-width:20rem}
        label{font-weight:600}input:not([type=checkbox]){flex:1 1 100%}
        input,button{font:inherit;padding:.5rem;min-height:1.5rem}button{cursor:pointer;padding:.5rem 1.5rem}
        [role=alert]{border-left:.25rem solid #b3261e;padding:.5rem .75rem}
        ul{padding-left:1.2rem}a{color:#0b57d0}nav{margin-top:3rem;font-size:.9rem}
        @media (prefers-color-scheme:dark){a{color:#8ab4f8}}
        """
}
