import AdapterKit
import Identity
import Testing

/// What RFC 6265 and RFC 6265bis ask of who keeps cookies.
@Suite struct CookieJarTests {
    private let now = WireDate(secondsSince1970: 1_800_000_000)

    private func address(_ text: String) throws -> UpstreamAddress { try #require(UpstreamAddress(text)) }

    private func jar(_ cookies: [String], from place: String = "https://portal.example.com/irj/login") throws
        -> CookieJar
    {
        var jar = CookieJar()
        try note(cookies, from: place, in: &jar)
        return jar
    }

    private func note(_ cookies: [String], from place: String, in jar: inout CookieJar) throws {
        let fields = UpstreamHeaders(cookies.map { (name: "Set-Cookie", value: $0) })
        jar.note(UpstreamResponse(address: try address(place), status: 200, fields: fields, body: []), now: now)
    }

    private func field(_ jar: CookieJar, _ place: String, after seconds: Double = 0) throws -> String? {
        jar.field(for: try address(place), now: WireDate(secondsSince1970: now.secondsSince1970 + seconds))
    }

    @Test func `a cookie goes back to its host, where it was set and below`() throws {
        let jar = try jar(["A=1"])
        for place in ["https://portal.example.com/irj", "https://portal.example.com/irj/x/y?z"] {
            #expect(try field(jar, place) == "A=1", "\(place)")
        }
        for place in [
            "https://portal.example.com/", "https://portal.example.com/irj2", "https://portal.example.com/IRJ/x",
            "https://example.com/irj", "https://x.portal.example.com/irj", "https://other.example.com/irj",
        ] {
            #expect(try field(jar, place) == nil, "\(place)")
        }
    }

    @Test func `a domain widens a cookie to its subdomains, and a path narrows or widens it`() throws {
        let jar = try jar(["A=1; Domain=.Example.com; Path=/", "B=2; Path=/irj/login/"])
        #expect(try field(jar, "https://example.com/") == "A=1")
        #expect(try field(jar, "https://x.y.example.com/z") == "A=1")
        #expect(try field(jar, "https://badexample.com/") == nil)
        #expect(try field(jar, "https://portal.example.com/irj/login") == "A=1")
        #expect(try field(jar, "https://portal.example.com/irj/login/now") == "B=2; A=1")
    }

    @Test func `the longest path comes first, then what was set first`() throws {
        let jar = try jar(["A=1; Path=/", "B=2; Path=/irj", "C=3; Path=/irj", "D=4; Path=/irj/login"])
        #expect(try field(jar, "https://portal.example.com/irj/login") == "D=4; B=2; C=3; A=1")
    }

    @Test func `a cookie that is set again keeps its place and has the new value, until it is ended`() throws {
        var jar = try jar(["A=1; Path=/", "B=2; Path=/", "A=3; Path=/"])
        #expect(try field(jar, "https://portal.example.com/") == "A=3; B=2")
        #expect(jar.values(of: "A", now: now).map { $0.reveal() } == ["3"])
        try note(["A=4; Path=/; Max-Age=0"], from: "https://portal.example.com/", in: &jar)
        #expect(try field(jar, "https://portal.example.com/") == "B=2")
    }

    @Test func `a cookie ends at its time`() throws {
        let jar = try jar(["A=1; Path=/; Max-Age=60", "B=2; Path=/"])
        #expect(try field(jar, "https://portal.example.com/", after: 59) == "A=1; B=2")
        #expect(try field(jar, "https://portal.example.com/", after: 60) == "B=2")
    }

    @Test func `a secure cookie stays with TLS, and a server without TLS neither sets nor replaces one`() throws {
        var jar = try jar(["A=1; Path=/; Secure"])
        #expect(try field(jar, "https://portal.example.com/") == "A=1")
        #expect(try field(jar, "http://portal.example.com/") == nil)
        try note(["A=2; Path=/", "B=3; Path=/; Secure", "C=4; Path=/"], from: "http://portal.example.com/", in: &jar)
        #expect(try field(jar, "https://portal.example.com/") == "A=1; C=4")
        #expect(try field(jar, "http://portal.example.com/") == "C=4")
    }

    @Test(arguments: [
        ("__Host-A=1; Path=/; Secure", true), ("__Host-A=1; Path=/", false), ("__Host-A=1; Secure; Path=/irj", false),
        ("__host-A=1; Path=/; Secure; Domain=example.com", false), ("__HOST-A=1; Secure", false),
        ("__Secure-A=1; Path=/irj; Secure", true), ("__Secure-A=1; Domain=example.com; Path=/; Secure", true),
        ("__Secure-A=1; Path=/", false), ("__secure-A=1", false), ("_Secure-A=1", true), ("Secure-A=1", true),
    ])
    func `a cookie keeps what the prefix of its name promises, or is not kept`(cookie: String, isKept: Bool) throws {
        #expect(try (field(jar([cookie]), "https://portal.example.com/irj/login") != nil) == isKept)
    }

    @Test(arguments: [
        ("A=\u{1f}", false), ("A=\u{7f}", false), ("A=\u{0}", false), ("A=\n", false), ("A=\t1", true), ("A=ä", true),
        ("A= 1 ", true), ("=1", false), ("A", false), ("", false),
        ("A=" + String(repeating: "x", count: 8190), true), ("A=" + String(repeating: "x", count: 8191), false),
    ])
    func `control characters, no name, and more than 8 KiB make no cookie`(cookie: String, isKept: Bool) throws {
        #expect(try (field(jar([cookie]), "https://portal.example.com/irj/login") != nil) == isKept)
    }

    @Test(arguments: ["com", "co.uk", "portal.example.org", "x.portal.example.com", "ple.com", "."])
    func `a cookie for servers that are not the host's own is not kept`(domain: String) throws {
        #expect(try field(jar(["A=1; Path=/; Domain=\(domain)"]), "https://portal.example.com/") == nil)
    }

    @Test func `of more than fifty cookies the oldest go`() throws {
        let jar = try jar((0..<60).map { "C\($0)=\($0); Path=/" })
        let kept = try #require(try field(jar, "https://portal.example.com/")).split(separator: "; ")
        #expect(kept.count == 50 && kept.first == "C10=10" && kept.last == "C59=59")
    }
}
