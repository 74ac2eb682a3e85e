import AdapterKit
import AdapterTesting
import PlistFeeds
import Testing

@Suite struct `The access of feeds` {
    private let host: TestHost

    init() async throws {
        let configuration = AdapterConfiguration([
            "everybodys": ["access": "public-read"], "staffs": ["access": ["roles": ["staff", "boss"]]],
            "members": ["access": "login"],
        ])
        host = try await TestHost(PlistFeedsModule.self, configuration)
        for name in ["everybodys", "staffs", "members", "others"] {
            try await host.call("publish", ["name": .string(name), "content": ["for": .string(name)]])
        }
    }

    private func verdict(_ feed: String, _ caller: Principal) async throws -> ErrorCode? {
        try await refusal { try await host.call("feed", ["name": .string(feed)], as: caller) }?.code
    }

    private func records(seenBy caller: Principal) async throws -> Set<String> {
        let page = try await host.records.seen(by: caller).query(Query(), in: "feeds")
        return Set(page.records.map(\.id.text))
    }

    @Test func `a caller without a login reads public feeds`() async throws {
        #expect(try await verdict("everybodys", .anonymous) == nil)
        #expect(try await verdict("staffs", .anonymous) == .loginRequired)
        #expect(try await verdict("members", .anonymous) == .loginRequired)
        #expect(try await verdict("others", .anonymous) == .loginRequired)
        #expect(try await verdict("unknown", .anonymous) == .loginRequired)
        #expect(try await records(seenBy: .anonymous) == ["everybodys"])
    }

    @Test func `a signed-in caller reads all that asks for no role`() async throws {
        #expect(try await verdict("everybodys", .testUser) == nil)
        #expect(try await verdict("staffs", .testUser) == .accessDenied)
        #expect(try await verdict("members", .testUser) == nil)
        #expect(try await verdict("others", .testUser) == nil)
        #expect(try await records(seenBy: .testUser) == ["everybodys", "members", "others"])
    }

    @Test func `one of the roles is enough`() async throws {
        let boss = Principal.user("kim", roles: ["boss"])
        #expect(try await verdict("staffs", boss) == nil)
        #expect(try await records(seenBy: boss) == ["everybodys", "staffs", "members", "others"])
    }

    @Test func `a feed of its own access is not ruled by the others'`() async throws {
        let configuration = AdapterConfiguration(["access": "public-read", "members": ["access": "login"]])
        let host = try await TestHost(PlistFeedsModule.self, configuration, access: .publicRead)
        for name in ["members", "others"] {
            try await host.call("publish", ["name": .string(name), "content": [:]])
        }
        #expect(try await refusal { try await host.call("feed", ["name": "others"], as: .anonymous) } == nil)
        let error = try await refusal { try await host.call("feed", ["name": "members"], as: .anonymous) }
        #expect(error?.code == .loginRequired)
        #expect(try await host.records.seen(by: .anonymous).count(nil, in: "feeds") == 1)
    }

    @Test func `feeds are written by publishing only`() async throws {
        let boss = host.records.seen(by: .user("kim", roles: ["boss"]))
        let change = try await refusal { try await boss.update("others", ["title": "Mine"], in: "feeds") }
        #expect(change?.code == .accessDenied)
        let creation = try await refusal {
            try await boss.create(
                [
                    "name": "mine", "title": "Mine", "version": 1, "latestVersion": 1,
                    "published": .date(host.clock.now()),
                    "content": [:],
                ], in: "feeds")
        }
        #expect(creation?.code == .accessDenied)
    }

    @Test func `the history has no mount of its own`() throws {
        let declaration = try PlistFeedsModule.declare(AdapterConfiguration())
        #expect(declaration.entity("versions")?.exposure == .adapterOnly)
        #expect(declaration.entity("feeds")?.exposure == .resource)
    }

    @Test(
        arguments: [
            (["no name": ["access": "login"]], "no name"), (["news": ["access": "everyone"]], "news.access"),
            (["news": ["access": ["roles": []]]], "news.access"), (["access": "nobody"], "access"),
        ] as [(WireDictionary, String)])
    func `a configuration that makes no sense is named`(values: WireDictionary, path: String) {
        #expect {
            try PlistFeedsModule.declare(AdapterConfiguration(values))
        } throws: { error in
            (error as? ConfigurationProblem)?.path == path
        }
    }
}
