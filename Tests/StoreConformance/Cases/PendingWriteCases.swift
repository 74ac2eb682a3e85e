import AdapterKit
import RecordStorage

/// What a store promises of callers' changes that are to be made in another system.
extension StoreConformance {
    public static let pendingWriteCases: [ConformanceCase] = [
        ConformanceCase("a change of a mirror and its pending write are one transaction") { store in
            let records = store.mirrored(.queued)
            try await records.create(["id": "a", "name": "apple", "rank": 1], in: "items")
            try await records.update("a", ["rank": 2], in: "items")
            try await expectError(.recordExists, "a change that is refused") {
                try await records.create(["id": "a", "name": "pear"], in: "items")
            }
            try await records.delete("a", in: "items")
            let writes = try await store.pending(after: 0)
            try expectEqual(writes.map(\.operation), [.create, .update, .delete], "the operations")
            try expectEqual(writes[1].fields, ["rank": 2], "the fields of an update")
            try expectEqual(writes[1].before?["rank"], 1, "the state before an update")
            try expectEqual(writes[2].before?["rank"], 2, "the state before a deletion")
            try expectEqual(writes.map(\.author), ["ada", "ada", "ada"], "the author")
            try expectEqual(Set(writes.map(\.key)).count, 3, "keys")
            let later = try await store.pending(after: writes[0].position)
            try expectEqual(later.map(\.id), [writes[1].id, writes[2].id], "after a position")
        },
        ConformanceCase("changes that come together are kept together or not at all, each with a key of its own") {
            store in
            let records = store.mirrored(.queued, key: "k")
            _ = try await records.apply([
                RecordChange("items", .create("a", ["id": "a", "name": "apple"])),
                RecordChange("items", .create("b", ["id": "b", "name": "pear"])),
            ])
            try await expectError(.recordNotFound, "the second of two changes") {
                _ = try await records.apply([
                    RecordChange("items", .create("c", ["id": "c", "name": "plum"])),
                    RecordChange("items", .update("nothing", ["name": "x"])),
                ])
            }
            try expectEqual(try await store.pending(after: 0).map(\.key), ["k.0", "k.1"], "keys")
            try expectEqual(try await store.names(), ["a": "apple", "b": "pear"], "records")
        },
        ConformanceCase("a change that another system is to make first is checked, kept, and changes no record") {
            store in
            let records = store.mirrored(.through)
            _ = try? await records.create(["id": "a", "name": "apple"], in: "items")
            try await expectError(.requestInvalid, "a value of another type") {
                try await records.create(["id": "b", "name": 7], in: "items")
            }
            try await expectError(.requestInvalid, "two changes at once") {
                _ = try await records.apply([
                    RecordChange("items", .create("c", ["id": "c", "name": "x"])),
                    RecordChange("items", .create("d", ["id": "d", "name": "x"])),
                ])
            }
            let writes = try await store.pending(after: 0)
            try expectEqual(writes.map(\.record), ["a"], "what is kept")
            try expectEqual(writes.map(\.isThrough), [true], "who waits for it")
            try expectEqual(writes.first?.fields["name"], "apple", "its fields")
            try expectEqual(try await store.names(), [:], "records")
        },
        ConformanceCase("waiting updates of one author and record are one write until it is sent") { store in
            try await store.mirrored(.queued).create(["id": "a", "name": "apple"], in: "items")
            for write in try await store.pending(after: 0) {
                try await store.transact(weight: 2) { try $0.removePendingWrite(write.id) }
            }
            for fields in [["rank": 1], ["note": "red"], ["rank": 2]] as [WireDictionary] {
                try await store.mirrored(.queued).update("a", fields, in: "items")
            }
            var writes = try await store.pending(after: 0)
            try expectEqual(writes.map(\.fields), [["rank": 2, "note": "red"]], "what is joined")
            try expectEqual(writes.first?.before?["rank"] ?? .null, .null, "the state before the first")
            // Under a key of its caller it may come again.
            try await store.mirrored(.queued, key: "k").update("a", ["rank": 3], in: "items")
            try await store.mirrored(.queued).update("a", ["rank": 4], in: "items")
            try await store.mirrored(.queued).update("a", ["rank": 5], in: "items")
            writes = try await store.pending(after: 0)
            try expectEqual(writes.map { $0.fields["rank"] }, [2, 3, 5], "with a key of its caller between")
            let last = writes[2]
            try await store.transact(weight: 1) { try $0.setBegun(last, mayBeMade: false) }
            try await store.mirrored(.queued).update("a", ["rank": 7], in: "items")
            try expectEqual(
                try await store.pending(after: 0).map { $0.fields["rank"] }, [2, 3, 5, 7], "once it is sent")
            let rank = try await store.record("a", in: Samples.itemsID, visible: nil)?["rank"]
            try expectEqual(rank, 7, "the record")
        },
        ConformanceCase("a key that a caller chose names one change, for a day and for each account") { store in
            try await store.mirrored(.queued, key: "k").create(["id": "a", "name": "apple"], in: "items")
            try await expectError(.keyReused, "another change under the key") {
                try await store.mirrored(.queued, key: "k").update("a", ["rank": 1], in: "items")
            }
            try await expectError(.requestInvalid, "a change that cannot be") {
                try await store.mirrored(.queued, key: "l").update("a", ["rank": "one"], in: "items")
            }
            try await store.mirrored(.queued, key: "l").update("a", ["rank": 1], in: "items")
            try await store.mirrored(.queued, key: "l").update("a", ["rank": 1], in: "items")
            try await store.mirrored(.queued, key: "k", of: "bob").create(["id": "b", "name": "pear"], in: "items")
            try expectEqual(
                try await store.pending(after: 0).map(\.key), ["k", "l", "l", "k"], "the writes that are kept")
        },
        ConformanceCase("a pending write changes its state, and goes") { store in
            try await store.mirrored(.queued).create(["id": "a", "name": "apple"], in: "items")
            let id = try await store.pending(after: 0)[0].id
            try await store.transact(weight: 3) { transaction in
                try transaction.setSent(true, of: id)
                try transaction.setBefore(["id": "a", "name": "old"], of: id)
                try transaction.setState(.unknown, reason: .upstreamOutcomeUnknown, message: "?", of: id)
            }
            let write = try await store.withReadSnapshot { try $0.pendingWrite(id) }
            try expectEqual(write?.wasSent, true, "whether it was sent")
            try expectEqual(write?.before, ["id": "a", "name": "old"], "the state before it")
            try expectEqual(write?.state, .unknown, "its state")
            let protected = try await store.withReadSnapshot { try $0.recordsWithPendingWrites(of: Samples.itemsID) }
            try expectEqual(protected, [], "records with pending writes")
            try await store.transact(weight: 2) { try $0.removePendingWrite(id) }
            try expectEqual(try await store.pending(after: 0), [], "after its removal")
        },
    ]
}

/// A system whose caller learns nothing: what is proposed stays.
private struct Proposals: WriteThrough {
    let store: any Store

    func write(
        _ mirror: CollectionID, _ propose: @escaping @Sendable (any StoreTransaction) throws -> RecordID
    ) async throws -> WriteReceipt {
        _ = try await store.transact(weight: 1) { try propose($0) }
        throw PorticoError(.upstreamFailed, "Nobody answers.")
    }
}

extension Store {
    fileprivate func mirrored(
        _ writing: MirrorSource.Writing, key: String? = nil, of author: String = "ada"
    ) -> AdapterRecords {
        AdapterRecords(
            store: self,
            declaration: AdapterDeclaration(
                name: Samples.adapter, title: "", summary: "", version: "1", entities: [Samples.items],
                mirrors: [MirrorSource("items", of: "hr", writing: writing)]),
            principal: Principal(kind: .user, id: author, name: author), origin: WriteOrigin(idempotencyKey: key),
            through: writing == .through ? Proposals(store: self) : nil)
    }

    fileprivate func pending(after position: Int64) async throws -> [PendingWrite] {
        try await withReadSnapshot { try $0.pendingWrites(of: Samples.itemsID, after: position, limit: 100) }
    }

    fileprivate func names() async throws -> [String: String] {
        let page = try await query(Query(limit: 100), in: Samples.itemsID)
        return Dictionary(
            page.records.map { ($0.id.text, $0["name"].stringValue ?? "") }, uniquingKeysWith: { $1 })
    }
}
