import AdapterKit
import Testing

@testable import Gateway

/// Which rows go with an account.
@Suite struct OwnedRowsTests {
    private static let owner: FieldName = "owner"
    private static let shared: FieldName = "sharedWith"

    private func entity(_ rows: RowRules) -> Entity {
        Entity(
            "things", summary: "", key: EntityKey("id"),
            fields: [
                Field("id", .string, source: .callerOnCreate), Field(Self.owner, .string),
                Field(Self.shared, .list(of: .string)), Field("state", .string),
            ], rows: rows)
    }

    private func row(_ fields: WireDictionary) -> Record {
        Record(id: "1", revision: Revision(1), fields: fields)
    }

    @Test(
        arguments: [
            (RowRules(read: .owner("owner"), write: .owner("owner")), ["owner": "ada"], true),
            (RowRules(read: .everyone, write: .owner("owner")), ["owner": "ada"], false),
            (
                RowRules(read: .any([.owner("owner"), .hasRole("admin")]), write: .owner("owner")), ["owner": "ada"],
                true
            ),
            (
                RowRules(read: .any([.owner("owner"), .sharedWith("sharedWith")]), write: .owner("owner")),
                ["owner": "ada", "sharedWith": []], true
            ),
            (
                RowRules(read: .any([.owner("owner"), .sharedWith("sharedWith")]), write: .owner("owner")),
                ["owner": "ada", "sharedWith": ["bob"]], false
            ),
            (
                RowRules(read: .sharedWith("sharedWith"), write: .all([.owner("owner"), .sharedWith("sharedWith")])),
                ["owner": "ada", "sharedWith": ["ada"]], true
            ),
            (
                RowRules(read: .any([.owner("owner"), .fieldIsOneOf("state", ["published"])]), write: .owner("owner")),
                ["owner": "ada", "state": "published"], false
            ),
            (
                RowRules(read: .any([.owner("owner"), .fieldIsOneOf("state", ["published"])]), write: .owner("owner")),
                ["owner": "ada", "state": "draft"], true
            ),
            (
                RowRules(read: .memberOf("rooms", through: "room", members: "members"), write: .owner("owner")),
                ["owner": "ada"], false
            ),
            (RowRules(read: .nobody, write: .all([.owner("owner"), .signedIn])), ["owner": "ada"], true),
        ] as [(RowRules, WireDictionary, Bool)])
    func `a row is its owner's alone where no rule lets another account reach it`(
        rows: RowRules, fields: WireDictionary, isAlone: Bool
    ) throws {
        let owned = try #require(AccountRows(of: entity(rows)))
        #expect(owned.owner == Self.owner)
        #expect(owned.belongsAlone(row(fields), to: "ada") == isAlone)
    }

    @Test func `an entity without owners has none`() {
        #expect(AccountRows(of: entity(RowRules(read: .everyone, write: .signedIn))) == nil)
        // As the changes are that wait for another system.
        #expect(AccountRows(of: entity(RowRules(read: .owner(Self.owner), write: .nobody))) == nil)
        #expect(AccountRows(of: entity(RowRules(read: .sharedWith(Self.shared), write: .nobody))) == nil)
    }
}
