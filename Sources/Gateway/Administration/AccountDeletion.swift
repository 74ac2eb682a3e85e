import AdapterKit
import Identity
import RecordStorage
import ValueTree

/// `porticoctl accounts delete`: an account with its sign-ins, its keys, its devices and the rows that are its alone.
///
/// Rows that others reach too keep its name, and so does the audit log. Rows that mirror another system are that system's.
struct AccountDeletion: Sendable {
    /// Rows that go in one transaction.
    private static let batch = 500

    let accounts: AccountAdministration

    /// The rows that would go, and those that would stay; nothing is changed.
    func preview(_ account: Account) async throws -> WireValue {
        try await value(
            rows(of: account),
            summary(
                account, devices: accounts.services.store.withReadSnapshot { try Self.devices(of: account, in: $0) }))
    }

    /// The account is disabled first, so that no row comes while they go. What was interrupted is done by doing it again.
    func delete(_ account: Account, by actor: Principal) async throws -> WireValue {
        let credentials = try await summary(account, devices: 0)
        try await administration.disable(account.id, by: actor)
        let rows = try await rows(of: account)
        for entity in rows { try await remove(entity, by: actor) }
        let devices = try await accounts.services.store.transact(weight: 1) {
            try $0.forgetClients(of: account.id.text)
        }
        try await administration.delete(account.id, by: actor)
        var counts = credentials
        counts["devices"] = .int64(Int64(devices))
        return value(rows, counts)
    }

    private var administration: Administration { accounts.identity.administration }

    /// The rows of one entity.
    private struct Rows {
        let collection: CollectionID
        /// With the revision at which each was its owner's alone.
        var alone: [(id: RecordID, revision: Revision)] = []
        var shared = 0
    }

    private func rows(of account: Account) async throws -> [Rows] {
        var found: [Rows] = []
        for served in accounts.roles.adapters {
            let declaration = served.declaration
            for entity in declaration.entities where declaration.mirror(of: entity.name) == nil {
                guard let owned = AccountRows(of: entity) else { continue }
                let rows = try await rows(owned, of: account.name, in: CollectionID(declaration.name, entity.name))
                if !rows.alone.isEmpty || rows.shared > 0 { found.append(rows) }
            }
        }
        return found
    }

    private func rows(_ owned: AccountRows, of name: AccountName, in collection: CollectionID) async throws -> Rows {
        var rows = Rows(collection: collection)
        var start = Query.Start.first
        while true {
            let page = try await accounts.services.store.query(
                Query(owned.filter(for: name), limit: Query.maximumLimit, start: start), in: collection)
            for row in page.records {
                if owned.belongsAlone(row, to: name) {
                    rows.alone.append((row.id, row.revision))
                } else {
                    rows.shared += 1
                }
            }
            guard let next = page.next else { return rows }
            start = .after(next)
        }
    }

    private func remove(_ rows: Rows, by actor: Principal) async throws {
        for start in stride(from: 0, to: rows.alone.count, by: Self.batch) {
            let steps = rows.alone[start...].prefix(Self.batch).map { row in
                WriteTransaction.Step(
                    adapter: rows.collection.adapter,
                    change: RecordChange(rows.collection.entity, .delete(row.id), if: .revision(row.revision)))
            }
            _ = try await accounts.services.store.write(WriteTransaction(steps, author: actor.name))
        }
    }

    /// The name, and how many sign-ins, API keys and devices there are.
    private func summary(_ account: Account, devices: Int) async throws -> WireDictionary {
        [
            "name": .string(account.name.text),
            "sessions": .int64(Int64(try await administration.sessions(of: account.id).count)),
            "keys": .int64(Int64(try await administration.apiKeys(of: account.id).count)),
            "devices": .int64(Int64(devices)),
        ]
    }

    /// The number of devices that have pushed in the account's name.
    private static func devices(of account: Account, in snapshot: any StoreSnapshot) throws -> Int {
        var (count, last) = (0, ClientID?.none)
        while true {
            let page = try snapshot.clients(after: last, limit: 1_000)
            count += page.filter { $0.identity == account.id.text }.count
            guard page.count == 1_000 else { return count }
            last = page.last?.id
        }
    }

    private func value(_ rows: [Rows], _ counts: WireDictionary) -> WireValue {
        var value = counts
        value["rows"] = .array(
            rows.map { rows in
                [
                    "collection": .string("\(rows.collection.adapter)/\(rows.collection.entity)"),
                    "deleted": .int64(Int64(rows.alone.count)), "kept": .int64(Int64(rows.shared)),
                ]
            })
        return .dictionary(value)
    }
}
