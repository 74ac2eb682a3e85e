import AdapterKit
import RecordStorage
import SyncEngine
import Testing

@Suite struct CallerTests {
    private func caller(
        _ name: String, roles: Set<RoleName> = [], _ attributes: [String: String] = [:]
    ) -> SyncCaller {
        SyncCaller(Principal(kind: .user, id: "1", name: name, roles: roles, attributes: attributes))
    }

    @Test func `callers of the same name, roles, facts and reach see the same`() {
        let ann = caller("ann", roles: ["auditor"], ["region": "north"])
        #expect(ann.seesTheSame(as: caller("ann", roles: ["auditor"], ["region": "north"])))
        #expect(!ann.seesTheSame(as: caller("ann", ["region": "north"])))
        #expect(!ann.seesTheSame(as: caller("ann", roles: ["auditor"])))
        #expect(!ann.seesTheSame(as: caller("ann", roles: ["auditor"], ["region": "north", "level": "1"])))
        #expect(!ann.seesTheSame(as: caller("ann", roles: ["auditor"], ["level": "north"])))
        let narrow = SyncCaller(ann.principal, adapters: ["notes"])
        #expect(!ann.seesTheSame(as: narrow))
        #expect(!ann.seesTheSame(as: SyncCaller(ann.principal, mayWrite: false)))
    }

    @Test func `texts that read alike are not the same account`() {
        #expect(!caller("\u{E9}").seesTheSame(as: caller("e\u{301}")))
        #expect(!caller("a", ["region": "\u{E9}"]).seesTheSame(as: caller("a", ["region": "e\u{301}"])))
    }
}
