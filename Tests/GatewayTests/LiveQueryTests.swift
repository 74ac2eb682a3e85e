import AdapterKit
import RecordStorage
import SyncEngine
import SyncMessages
import Testing
import WireFormats

@testable import Gateway

@Suite struct LiveQueryTests {
    private func query(
        _ caller: SyncCaller, at checkpoint: String = "c", _ request: PullRequest = PullRequest(limit: 5),
        _ format: any WireFormat = JSONFormat()
    ) -> LiveQuery {
        LiveQuery(checkpoint: checkpoint, subject: LiveSubject(request, for: caller, as: format))
    }

    private func caller(
        _ name: String, roles: Set<RoleName> = [], _ attributes: [String: String] = [:],
        adapters: Set<AdapterName>? = nil, mayWrite: Bool = true
    ) -> SyncCaller {
        SyncCaller(
            Principal(kind: .user, id: "1", name: name, roles: roles, attributes: attributes), adapters: adapters,
            mayWrite: mayWrite)
    }

    @Test func `streams of one account at one place ask alike`() {
        let region = ["region": "north"]
        #expect(query(caller("ann", region)) == query(caller("ann", region)))
        #expect(query(caller("ann")).hashValue == query(caller("ann")).hashValue)
    }

    @Test func `whoever may see something else asks something else`() {
        let ann = query(caller("ann"))
        for other in [
            caller("ben"), caller("ann", roles: ["auditor"]), caller("ann", ["region": "north"]),
            caller("ann", adapters: ["notes"]), caller("ann", mayWrite: false),
        ] {
            #expect(query(other) != ann)
        }
        #expect(query(caller("ann", ["region": "north"])) != query(caller("ann", ["region": "south"])))
    }

    @Test func `names that read alike and are not the same bytes are two`() {
        #expect("\u{E9}" == "e\u{301}")
        #expect(query(caller("\u{E9}")) != query(caller("e\u{301}")))
        #expect(query(caller("a", ["region": "\u{E9}"])) != query(caller("a", ["region": "e\u{301}"])))
    }

    @Test func `another place, choice, size or format is another query`() {
        let ann = caller("ann")
        let asked = query(ann)
        #expect(query(ann, at: "d") != asked)
        #expect(query(ann, PullRequest(collections: ["notes"], limit: 5)) != asked)
        #expect(query(ann, PullRequest(limit: 6)) != asked)
        #expect(query(ann, PullRequest(limit: 5), XMLPropertyListFormat()) != asked)
    }
}
