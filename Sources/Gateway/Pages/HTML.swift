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
        // Browsers leave out control characters, and what follows decides (URL Standard, section 4.4).
        let isPlain = path.utf8.allSatisfy { $0 > 0x20 && $0 != 0x5C && $0 != 0x7F }
        guard isPlain, path.utf8.starts(with: "/".utf8), !path.utf8.starts(with: "//".utf8) else { return .text(title) }
        return HTML(markup: "<a href=\"\(HTML.text(path).text)\">\(HTML.text(title).text)</a>")
    }

    static func code(_ plain: String) -> HTML { HTML(markup: "<code>\(HTML.text(plain).text)</code>") }

    static func group(_ parts: [HTML]) -> HTML { HTML(markup: parts.map(\.text).joined()) }

    /// What may be wider than a phone. It scrolls by keyboard too, which needs the focus and a name.
    static func scrolling(_ content: HTML) -> HTML {
        element(
            "div",
            [.init("class", "scroll"), .init("tabindex", "0"), .init("role", "region"), .init("aria-label", "Table")],
            [content])
    }

    static let mediaType = "text/html; charset=utf-8"

    /// `isWide`: tables take the width that there is; text does not.
    static func document(title: String, isWide: Bool = false, body: [HTML]) -> HTML {
        HTML(
            markup: """
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>\(HTML.text(title).text)</title>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml">
                <style>\(style)</style>
                </head>
                <body>
                <header><a href="/">Portico</a></header>
                <main\(isWide ? " class=\"wide\"" : "")>
                \(body.map(\.text).joined())</main>
                </body>
                </html>

                """)
    }

    /// For pages that are made here: their one style, by its hash, the icon, and nothing else.
    static let contentSecurityPolicy = """
        default-src 'none'; style-src 'sha256-\(String(decoding: Base64.encode(styleDigest), as: UTF8.self))'; \
        img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'
        """

    private static var styleDigest: [UInt8] { Array(SHA256.hash(data: Array(style.utf8))) }

    /// Texts have a contrast of 7 to 1 at least (WCAG 2.2, 1.4.6), in light and in dark.
    private static let style = """
        :root{color-scheme:light dark;--ink:#1c1917;--soft:#57534e;--paper:#faf9f7;--card:#fff;--line:#d6d3d1;\
        --accent:#0f5e6b;--on-accent:#fff;--alert:#b3261e;font:1rem/1.5 system-ui,sans-serif}
        @media (prefers-color-scheme:dark){:root{--ink:#f5f5f4;--soft:#c4beb9;--paper:#171513;--card:#221f1d;\
        --line:#4a4541;--accent:#7fd1de;--on-accent:#06282e;--alert:#ff8a80}}
        *{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere}
        header{border-bottom:1px solid var(--line);background:var(--card);padding:.5rem 1rem}
        header a{display:inline-flex;align-items:center;gap:.6rem;min-height:2.75rem;font-weight:700;\
        letter-spacing:.02em;color:var(--ink);text-decoration:none}
        header a::before{content:"";width:1.1rem;height:1.3rem;border:.3rem solid var(--accent);border-bottom:0;\
        border-radius:.6rem .6rem 0 0}
        main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 3rem}main.wide{max-width:none}
        h1{margin:0 0 .5rem;font-size:1.75rem;line-height:1.2}h1.path{font-size:1.25rem}
        h2{margin:0 0 .25rem;font-size:1.15rem}p{margin:.5rem 0;max-width:44rem}
        a{color:var(--accent);text-underline-offset:.15em}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        .cards{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));margin:1.5rem 0}
        .cards section{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem}
        .cards section.first{border-color:var(--accent)}
        ul{padding-left:1.2rem;margin:.5rem 0}li{margin:.25rem 0}.cards ul{padding:0;list-style:none}
        .cards li{margin:.5rem 0}
        .note,nav{color:var(--soft);font-size:.95rem}
        form{max-width:22rem;margin:1rem 0}form p{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center}
        label{font-weight:600}input:not([type=checkbox]){flex:1 1 100%}
        input,button{font:inherit;padding:.5rem .75rem;min-height:2.75rem;border:1px solid var(--soft);\
        border-radius:.4rem;background:var(--card);color:inherit}
        input[type=checkbox]{min-height:0;width:1.25rem;height:1.25rem}
        button{cursor:pointer;padding:.5rem 1.5rem;border-color:var(--accent);background:var(--accent);\
        color:var(--on-accent);font-weight:600}
        [role=alert]{border-left:.25rem solid var(--alert);padding:.5rem .75rem}
        .scroll{overflow-x:auto;max-width:100%;margin:.5rem 0}
        table{border-collapse:collapse;background:var(--card);font-size:.9rem;overflow-wrap:normal}
        th,td{border:1px solid var(--line);padding:.35rem .6rem;text-align:left;vertical-align:top;\
        max-width:32rem}.text{white-space:pre-wrap}
        td{overflow-wrap:break-word}thead th{color:var(--soft);white-space:nowrap}
        """
}
