import AdapterKit
import SyncEngine
import SyncMessages
import Testing
import WireFormats

@testable import Gateway

@Suite struct LiveQuestionTests {
    private func question(
        _ caller: SyncCaller, at checkpoint: String = "c", _ request: PullRequest = PullRequest(limit: 5),
        _ format: any WireFormat = JSONFormat()
    ) -> LiveQuestion {
        LiveQuestion(checkpoint: checkpoint, subject: LiveSubject(request, for: caller, as: format))
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
        #expect(question(caller("ann", region)) == question(caller("ann", region)))
        #expect(question(caller("ann")).hashValue == question(caller("ann")).hashValue)
    }

    @Test func `whoever may see something else asks something else`() {
        let ann = question(caller("ann"))
        for other in [
            caller("ben"), caller("ann", roles: ["auditor"]), caller("ann", ["region": "north"]),
            caller("ann", adapters: ["notes"]), caller("ann", mayWrite: false),
        ] {
            #expect(question(other) != ann)
        }
        #expect(question(caller("ann", ["region": "north"])) != question(caller("ann", ["region": "south"])))
    }

    @Test func `names that read alike and are not the same bytes are two`() {
        #expect("\u{E9}" == "e\u{301}")
        #expect(question(caller("\u{E9}")) != question(caller("e\u{301}")))
        #expect(question(caller("a", ["region": "\u{E9}"])) != question(caller("a", ["region": "e\u{301}"])))
    }

    @Test func `another place, choice, size or format is another question`() {
        let ann = caller("ann")
        let asked = question(ann)
        #expect(question(ann, at: "d") != asked)
        #expect(question(ann, PullRequest(collections: ["notes"], limit: 5)) != asked)
        #expect(question(ann, PullRequest(limit: 6)) != asked)
        #expect(question(ann, PullRequest(limit: 5), XMLPropertyListFormat()) != asked)
    }
}
