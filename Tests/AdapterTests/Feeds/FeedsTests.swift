import AdapterKit
import AdapterTesting
import PlistFeeds
import Testing
import WorkerTesting

@Suite struct `Feeds` {
    private let open: AdapterConfiguration = AdapterConfiguration(["sonnets": ["access": "public-read"]])

    private func host(samples: Bool = true) async throws -> TestHost {
        try await TestHost(PlistFeedsModule.self, open, withSamples: samples)
    }

    @Test(arguments: Mode.allCases) func `the adapter conforms`(mode: Mode) async {
        let conformance = AdapterConformance(
            mode.module(PlistFeedsModule.self), configuration: open,
            examples: [
                .init("feed", ["name": "sonnets"], as: .anonymous), .init("list"),
                .init("publish", ["name": "news", "content": ["items": []]]), .init("versions", ["name": "sonnets"]),
                .init("rollback", ["name": "sonnets", "version": 1]),
            ])
        #expect(await conformance.problems() == [])
    }

    @Test func `the sonnets are pairs of a numeral and a text with its lines`() async throws {
        let feed = try await host().value("feed", ["name": "sonnets"], as: .anonymous)
        let verses = try #require(feed["verses"]?.arrayValue)
        #expect(verses.count == 7)
        for verse in verses {
            let pair = try #require(verse.arrayValue)
            #expect(pair.count == 2)
            #expect(pair.last?.stringValue?.split(separator: "\n").count == 14)
        }
        #expect(verses.first?.arrayValue?.first == "XVIII")
        #expect(
            verses.first?.arrayValue?.last?.stringValue?.hasPrefix("Shall I compare thee to a summer's day?\n") == true)
    }

    @Test func `a feed is an XML property list unless asked otherwise, for text/xml too`() throws {
        let feed = try #require(PlistFeedsModule.declare(open).operation("feed"))
        let binding = try #require(feed.bindings.first)
        #expect(feed.bindings.count == 1)
        #expect(binding.method == .get)
        #expect(binding.path.description == "/plists/{name}")
        #expect(binding.presentation.defaultFormat == "plist")
        #expect(binding.presentation.textXMLIsPropertyList)
    }

    @Test(arguments: ["nothing", "access", "a/b", "é", ""])
    func `an unknown feed is not found`(name: String) async throws {
        let host = try await host()
        let error = try await refusal { try await host.call("feed", ["name": .string(name)]) }
        #expect(error?.code == .recordNotFound)
    }

    @Test func `a state has validators that a publication changes`() async throws {
        let host = try await host()
        let before = try await host.call("feed", ["name": "sonnets"]).validators
        #expect(try await host.call("feed", ["name": "sonnets"]).validators == before)
        host.clock.advance(seconds: 60)
        try await host.call("publish", ["name": "sonnets", "content": ["verses": []]])
        let after = try await host.call("feed", ["name": "sonnets"]).validators
        #expect(after?.version != nil)
        #expect(after?.version != before?.version)
        #expect(after?.lastModified == host.clock.now())
    }

    @Test func `the front page lists what every caller may read, and nothing else`() async throws {
        let host = try await host()
        try await host.call("publish", ["name": "secrets", "content": [:], "title": "Secrets"])
        #expect(
            try await host.adapter.frontPageEntries() == [
                FrontPageEntry(title: "Shakespeare's sonnets", path: "/plists/sonnets", summary: "Version 1.")
            ])
    }
}
