import AdapterKit
import AdapterTesting
import PlistFeeds
import Synchronization
import Testing
import WireFormats

/// A site whose answer a test sets.
private final class Site: Sendable {
    struct Answer: Sendable {
        var status = 200
        var type = "application/x-plist"
        var body = Site.plist("<key>a</key><integer>1</integer>")
        var tag: String?
        var age: String?
    }

    private let current = Mutex(Answer())

    func set(_ change: (inout Answer) -> Void) { current.withLock { change(&$0) } }

    func answer(_ request: UpstreamRequest) -> UpstreamResponse {
        let answer = current.withLock { $0 }
        var fields = [(name: "Content-Type", value: answer.type)]
        if let tag = answer.tag { fields.append((name: "ETag", value: tag)) }
        if let age = answer.age { fields.append((name: "Age", value: age)) }
        let isKnown = answer.tag != nil && request.fields["If-None-Match"] == answer.tag
        return UpstreamResponse(
            address: request.address, status: isKnown ? 304 : answer.status, fields: UpstreamHeaders(fields),
            body: isKnown ? [] : Array(answer.body.utf8))
    }

    static func plist(_ members: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>\(members)</dict></plist>
        """
    }
}

@Suite struct `Feeds of other systems` {
    private static let url = UpstreamAddress("https://site.example/")!
    private static let feed: WireDictionary = ["upstream": "upstream", "path": "plists/news"]

    private let site = Site()
    private let upstream: ScriptedUpstream
    private let host: TestHost

    init() async throws {
        let site = site
        upstream = ScriptedUpstream(url: Self.url) { request, _ in site.answer(request) }
        host = try await TestHost(
            PlistFeedsModule.self, AdapterConfiguration(["news": .dictionary(Self.feed)]), upstream: upstream)
    }

    /// Fetches as the host does: the row of the mirror is stored.
    @discardableResult
    private func fetch() async throws -> MirrorPage {
        let page = try await host.adapter.readMirror(MirrorRequest("news"))
        for row in page.rows {
            _ = try await host.records.unrestricted.apply([
                RecordChange("news", .replace("news", row, orCreate: true))
            ])
        }
        return page
    }

    private func shown() async throws -> WireValue { try await host.value("feed", ["name": "news"]) }

    private func versions() async throws -> [WireValue] {
        try await host.value("versions", ["name": "news"])["versions"]?.arrayValue ?? []
    }

    private func held() async throws -> MirrorRefusal.Kind? {
        do {
            try await fetch()
            return nil
        } catch let refusal as MirrorRefusal { return refusal.kind }
    }

    @Test(arguments: [
        (FormatName.plist, "application/x-plist"), (.plist, "text/html"), (.bplist, "application/x-apple-binary-plist"),
        (.json, "application/json; charset=utf-8"),
    ])
    func `the source of a feed conforms in every format, with the media type of the first sites too`(
        format: FormatName, type: String
    ) async throws {
        let value: WireValue = ["verses": [["I", "Shall I compare thee"], ["II", "to a summer's day?"]], "count": 2]
        let body: [UInt8] =
            switch format {
            case .bplist: try BinaryPropertyListFormat().write(value)
            case .json: try JSONFormat().write(value)
            default: try XMLPropertyListFormat().write(value)
            }
        let conformance = MirrorConformance(
            PlistFeedsModule.self, "news", configuration: ["news": .dictionary(Self.feed)]
        ) { request, _ in
            UpstreamResponse(address: request.address, status: 200, fields: ["Content-Type": type], body: body)
        }
        #expect(await conformance.problems() == [])
    }

    @Test func `what changed is a version of the upstream, and what did not is none`() async throws {
        try await fetch()
        try await fetch()
        #expect(try await shown() == ["a": 1])
        site.set { $0.body = Site.plist("<key>a</key><integer>2</integer><key>b</key><true/>") }
        try await fetch()
        #expect(try await shown() == ["a": 2, "b": true])
        // The same in another order of its keys, in another format, and under another tag.
        site.set { $0.body = Site.plist("<key>b</key><true/><key>a</key><integer>2</integer>") }
        try await fetch()
        site.set { ($0.body, $0.type, $0.tag) = (#"{"b":true,"a":2}"#, "application/json", "\"t\"") }
        try await fetch()
        let versions = try await versions()
        #expect(versions.count == 2)
        #expect(versions.allSatisfy { $0["publishedBy"] == "upstream upstream" })
    }

    @Test func `an answer of 304 is the document that was fetched last`() async throws {
        site.set { $0.tag = "\"t1\"" }
        let first = try await fetch()
        site.set { $0.age = "7" }
        let second = try await fetch()
        #expect(second.rows == first.rows)
        #expect(first.age == .zero && second.age == .seconds(7))
        #expect(upstream.asked.last?.request.fields["If-None-Match"] == "\"t1\"")
        #expect(upstream.asked.first?.request.fields["If-None-Match"] == nil)
        // Without a record of the last fetch, a 304 is an answer to nothing.
        site.set { ($0.status, $0.tag) = (304, nil) }
        let other = try await TestHost(
            PlistFeedsModule.self, AdapterConfiguration(["news": .dictionary(Self.feed)]), upstream: upstream)
        await #expect(throws: MirrorRefusal.self) { try await other.adapter.readMirror(MirrorRequest("news")) }
    }

    @Test func `a roll-back holds until the upstream has something else`() async throws {
        try await fetch()
        site.set { $0.body = Site.plist("<key>a</key><integer>2</integer>") }
        try await fetch()
        try await host.call("rollback", ["name": "news", "version": 1])
        try await fetch()
        #expect(try await shown() == ["a": 1])
        site.set { $0.body = Site.plist("<key>a</key><integer>3</integer>") }
        try await fetch()
        #expect(try await shown() == ["a": 3])
        #expect(try await versions().compactMap { $0["version"]?.int64Value } == [3, 2, 1])
    }

    @Test func `what cannot be the feed replaces nothing`() async throws {
        try await fetch()
        let before = try await versions()
        let lies: [(String, String, MirrorRefusal.Kind)] = [
            ("text/html", "<html><form action=\"login\"></form></html>", .loginPage),
            ("application/x-plist", "<html><form action=\"login\"></form></html>", .malformed),
            ("application/x-plist", String(Site.plist("<key>a</key><true/>").dropLast(20)), .malformed),
            ("application/json", #"{"a": [1, 2"#, .malformed), ("application/x-plist", "bplist00garbage", .malformed),
            ("application/json", #"{"a": null}"#, .unexpected), ("image/png", "bplist00", .mediaType),
            ("application/x-plist", Site.plist("").replacing("dict", with: "array"), .unexpected),
            ("application/xml", "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>", .malformed),
        ]
        for (type, body, kind) in lies {
            site.set { ($0.type, $0.body) = (type, body) }
            #expect(try await held() == kind, "\(type) \(body)")
        }
        #expect(try await shown() == ["a": 1])
        #expect(try await versions() == before)
    }

    @Test func `operators publish no feed of another system, and others as before`() async throws {
        try await fetch()
        let code = try await refusal {
            try await host.call("publish", ["name": "news", "content": ["a": 5]])
        }?.code
        #expect(code == .recordConflict)
        try await host.call("publish", ["name": "other", "content": ["a": 5]])
        let feeds = try await host.value("list")["feeds"]?.arrayValue ?? []
        #expect(feeds.map { $0["upstream"] } == ["upstream", nil])
    }

    @Test(
        arguments: [
            ("news", ["path": "x"], "news.path"), ("news", ["refresh": 5.0], "news.refresh"),
            ("news", ["upstream": "site"], "news.upstream"),
            ("news", ["upstream": "site", "path": ""], "news.upstream"),
            ("news", ["upstream": "site", "path": "https://other.example/x"], "news.path"),
            ("news", ["upstream": "site", "path": "//other.example/x"], "news.path"),
            ("news", ["upstream": "site", "path": "../x"], "news.path"),
            ("news", ["upstream": "site", "path": "/x"], "news.path"),
            ("news", ["upstream": "site", "path": "x", "freshFor": 60.0, "staleFor": 30.0], "news.staleFor"),
            ("feeds", ["upstream": "site", "path": "x"], "feeds.upstream"),
            ("versions", ["upstream": "site", "path": "x"], "versions.upstream"),
        ] as [(String, WireDictionary, String)])
    func `a feed that cannot be fetched as configured is refused, naming the key`(
        name: String, keys: WireDictionary, path: String
    ) throws {
        let problem = try #require(throws: ConfigurationProblem.self) {
            try PlistFeedsModule.declare(AdapterConfiguration([name: .dictionary(keys)]))
        }
        #expect(problem.path == path)
    }
}
