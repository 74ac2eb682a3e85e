import AdapterKit
import AdapterTesting
import Testing
import Weather

@Suite struct WeatherTests {
    private static let configuration: WireDictionary = ["upstream": "service", "refresh": 60]

    /// Three stations in two regions, on two pages.
    private static let pages = [
        nil: """
        {"observations": [
          {"station": "a", "region": "coast", "place": "Kiel", "temperature": 11.5, "wind": 8,
           "observed": "2026-11-23T09:00:00Z", "humidity": 80},
          {"station": "b", "region": "coast", "place": "Emden", "temperature": null,
           "observed": "2026-11-23T09:00:00+01:00"}], "next": "b"}
        """,
        "b": """
        {"observations": [{"station": "c", "region": "alps", "place": "Zugspitze", "temperature": -4}]}
        """,
    ]

    @Sendable private static func answer(
        _ request: UpstreamRequest, _ caller: Principal?
    ) async throws(UpstreamFailure) -> UpstreamResponse {
        let after = request.address.target.split(separator: "=").dropFirst().first.map(String.init)
        return UpstreamResponse(
            address: request.address, status: pages[after] == nil ? 404 : 200,
            fields: ["Content-Type": "application/json"], body: Array((pages[after] ?? "").utf8))
    }

    private static func service() throws -> ScriptedUpstream {
        ScriptedUpstream(
            name: "service", url: try #require(UpstreamAddress("https://weather.example/v1/")), answer: answer)
    }

    private func host() async throws -> TestHost {
        let host = try await TestHost(
            WeatherModule.self, AdapterConfiguration(Self.configuration), upstream: Self.service())
        try await host.refreshMirrors()
        return host
    }

    private func stations(_ caller: String, on host: TestHost) async throws -> [String] {
        try await host.records.seen(by: .user(caller)).query(Query(), in: "observations").records.map(\.id.text)
    }

    @Test func `The mirror conforms: no answer that lies is taken for observations`() async {
        let conformance = MirrorConformance(
            WeatherModule.self, "observations", configuration: Self.configuration, answer: Self.answer)
        #expect(await conformance.problems() == [])
    }

    @Test func `The adapter conforms`() async throws {
        let conformance = AdapterConformance(
            WeatherModule.self, configuration: AdapterConfiguration(Self.configuration), upstream: try Self.service(),
            examples: [.init("follow", ["region": "coast"]), .init("unfollow", ["region": "coast"])])
        #expect(await conformance.problems() == [])
    }

    @Test func `A configuration without weather service is refused with the key's name`() {
        let problem = #expect(throws: ConfigurationProblem.self) {
            try WeatherModule.declare(AdapterConfiguration())
        }
        #expect(problem?.path == "upstream")
    }

    @Test func `The declared feed sends nothing that the row rules hide`() throws {
        let declaration = try WeatherModule.declare(AdapterConfiguration(Self.configuration))
        #expect(declaration.mirrorProblems == [])
        for feed in declaration.liveFeeds { try feed.check(in: declaration) }
    }

    @Test func `Times are read, null stays null, and what is no field is left out`() async throws {
        let records = try await host().records.unrestricted
        let kiel = try #require(try await records.record("a", in: "observations"))
        #expect(kiel["observed"].dateValue == WireDate(rfc3339: "2026-11-23T09:00:00Z"))
        #expect(kiel["wind"].doubleValue == 8)
        #expect(kiel.fields["humidity"] == nil)
        #expect(try await records.record("b", in: "observations")?["temperature"].isNull == true)
    }

    @Test func `One sees the weather of the regions that one follows, until one leaves them`() async throws {
        let host = try await host()
        #expect(try await stations("alice", on: host) == [])
        try await host.call("follow", ["region": "coast"], as: .user("alice"))
        try await host.call("follow", ["region": "alps"], as: .user("bob"))
        #expect(try await stations("alice", on: host) == ["a", "b"])
        #expect(try await stations("bob", on: host) == ["c"])
        let left = try await host.value("unfollow", ["region": "coast"], as: .user("alice"))
        #expect(left == ["region": "coast", "isFollowed": false])
        #expect(try await stations("alice", on: host) == [])
    }

    @Test func `Following twice is the same as once`() async throws {
        let host = try await host()
        for _ in 0..<2 { try await host.call("follow", ["region": "coast"], as: .user("alice")) }
        let region = try await host.records.unrestricted.record("coast", in: "regions")
        #expect(region?["followers"] == ["alice"])
    }

    @Test func `A region without observations cannot be followed`() async throws {
        let host = try await host()
        let failure = await #expect(throws: PorticoError.self) {
            try await host.call("follow", ["region": "moon"], as: .user("alice"))
        }
        #expect(failure?.code == .recordNotFound)
    }

    @Test func `Followers are written by the operations alone`() async throws {
        let host = try await host()
        try await host.call("follow", ["region": "coast"], as: .user("alice"))
        let failure = await #expect(throws: PorticoError.self) {
            try await host.records.seen(by: .user("alice")).update(
                "coast", ["followers": ["alice", "mallory"]], in: "regions")
        }
        #expect(failure?.code == .accessDenied)
    }
}
