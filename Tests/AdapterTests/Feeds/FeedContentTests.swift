import AdapterKit
import AdapterTesting
import PlistFeeds
import Testing

@Suite struct `What a feed can hold` {
    private func target(_ content: WireValue) async throws -> String? {
        let host = try await TestHost(PlistFeedsModule.self)
        let error = try await refusal { try await host.call("publish", ["name": "news", "content": content]) }
        if let error { #expect(error.code == .requestInvalid) }
        return error?.target
    }

    private func nested(_ depth: Int) -> WireValue {
        (1..<depth).reduce(["end": 1]) { inner, _ in ["in": inner] }
    }

    @Test func `everything that all formats carry`() async throws {
        let content: WireValue = [
            "texts": ["", "line\nline", "A&B ‹é>", "\u{1F600}"], "": "an empty key", "yes": true, "whole": -1,
            "large": .uint64(.max), "real": 1.0, "bytes": .data([0, 255]),
            "date": .date(WireDate(secondsSince1970: 0)), "nothing": [], "empty": [:],
        ]
        #expect(try await target(content) == nil)
    }

    @Test(
        arguments: [
            (["a"], "content"), ("text", "content"), (.null, "content"), (["a": .null], "content.a"),
            (["verses": [["I", "text"], ["II", .null]]], "content.verses[1][1]"),
            (["a": ["b": .uid(1)]], "content.a.b"), (["a": .double(.nan)], "content.a"),
            (["a": .double(.infinity)], "content.a"), (["a": .decimal(WireDecimal("1e30")!)], "content.a"),
            (["a": "bell\u{7}"], "content.a"), (["a": "\u{FFFF}"], "content.a"), (["\u{0}": 1], "content.\u{FFFD}"),
            (["a": .date(WireDate(secondsSinceReferenceDate: .nan))], "content.a"),
        ] as [(WireValue, String)])
    func `and nothing else, named by its path`(content: WireValue, path: String) async throws {
        #expect(try await target(content) == path)
    }

    @Test func `not deeper than a hundred levels`() async throws {
        #expect(try await target(nested(99)) == nil)
        #expect(try await target(nested(100))?.hasPrefix("content.in.in") == true)
    }
}
