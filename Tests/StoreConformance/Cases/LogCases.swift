import AdapterKit
import RecordStorage

extension StoreConformance {
    static let logCases = [
        ConformanceCase("every change has its log entry, in order, with the record's revision") { store in
            let created = try await store.own.create(["id": "x", "name": "a"], in: "items")
            let updated = try await store.own.update("x", ["rank": 1], in: "items")
            try await store.own.delete("x", in: "items")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log.map(\.kind), [.put, .put, .remove], "kinds")
            try expectEqual(log.prefix(2).map(\.position), [created.revision, updated.revision], "positions")
            try expect(log.allSatisfy { $0.collection == Samples.itemsID && $0.id == "x" }, "the record")
            try expectEqual(log.last?.position, try await store.exactPosition(), "the last position")
        },
        ConformanceCase("an entry has what row rules saw before the change") { store in
            try await store.seen(by: "ann").create(["id": "x", "name": "a", "tags": ["t"], "group": "g"], in: "items")
            try await store.seen(by: "ann").update("x", ["tags": ["u"]], in: "items")
            try await store.seen(by: "ann").delete("x", in: "items")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log[0].previousScopeValues, [:], "of a new record")
            try expectEqual(
                log[1].previousScopeValues, ["owner": "ann", "tags": ["t"], "group": "g"], "of a changed record")
            try expectEqual(log[2].previousScopeValues["tags"], ["u"], "of a deleted record")
        },
        ConformanceCase("the log is read in pages from any position") { store in
            for _ in 0..<5 { try await store.own.create(["name": "a"], in: "items") }
            let whole = try await store.changes(after: Revision(0), limit: 100)
            try expectEqual(whole.count, 5, "entries")
            let first = try await store.changes(after: Revision(0), limit: 2)
            let rest = try await store.changes(after: first[1].position, limit: 100)
            try expectEqual(first + rest, whole, "the pages together")
            try expectEqual(
                try await store.changes(after: try await store.exactPosition(), limit: 1), [], "after the last")
        },
        ConformanceCase("an adapter's position moves with its own records only") { store in
            let other = CollectionDeclaration(adapter: "others", entity: Samples.tickets)
            try await store.install([other])
            try await store.own.create(["name": "a"], in: "items")
            let before = try await store.exactPosition()
            let version = try await store.currentVersion(of: Samples.adapter)
            try expect(store.position(of: Samples.adapter) <= before, "the position of the adapter that changed")
            let step = WriteTransaction.Step(
                adapter: "others", change: RecordChange("tickets", .create(nil, ["value": 1])))
            let receipt = try await store.write(WriteTransaction([step], author: "system"))
            try expect(store.position(of: Samples.adapter) <= before, "the other adapter's position")
            try expectEqual(
                try await store.currentVersion(of: Samples.adapter), version, "the other adapter's version")
            try expect(
                store.position(of: "others") <= receipt.position, "the position of the one that changed")
            try expectEqual(store.position(of: "unknown"), Revision(0), "the position of none")
        },
    ]
}

extension StoreConformance {
    static let compactionCases = [
        ConformanceCase("an entry has the revision before and the fields that changed") { store in
            let created = try await store.own.create(["id": "x", "name": "a", "rank": 1], in: "items")
            let updated = try await store.own.update("x", ["rank": 2, "name": "a", "note": "n"], in: "items")
            try await store.own.delete("x", in: "items")
            let log = try await store.changes(after: Revision(0), limit: 10)
            try expectEqual(log.map(\.previousRevision), [nil, created.revision, updated.revision], "revisions")
            try expectEqual(log.map(\.changedFields), [nil, ["note", "rank"], nil], "fields")
        },
        ConformanceCase("a record's history is its own entries, newest first") { store in
            for _ in 0..<3 {
                try await store.own.create(["id": "x", "name": "a"], in: "items")
                try await store.own.create(["name": "b"], in: "items")
                try await store.own.delete("x", in: "items")
            }
            try await store.withReadSnapshot { snapshot in
                let history = try snapshot.history(of: "x", in: Samples.itemsID, limit: 3)
                try expectEqual(history.map(\.kind), [.remove, .put, .remove], "kinds")
                try expect(history.allSatisfy { $0.id == "x" }, "of one record")
                try expectEqual(history.map(\.position.number), [9, 7, 6], "positions")
                try expectEqual(try snapshot.history(of: "x", in: Samples.ticketsID, limit: 3), [], "elsewhere")
            }
        },
        ConformanceCase("compaction removes the log's beginning, and reading below the floor says so") { store in
            for _ in 0..<6 { try await store.own.create(["name": "a"], in: "items") }
            let dry = try await store.compact(.through(Revision(4)), dryRun: true)
            try expectEqual(try await store.exactFloor(), Revision(0), "the floor after a dry run")
            let done = try await store.compact(.through(Revision(4)), dryRun: false)
            try expectEqual(dry, done, "the dry run and the run")
            try expectEqual(done, Compaction(floor: Revision(4), entries: 4, outcomes: 0), "what was removed")
            try expectEqual(try await store.exactFloor(), Revision(4), "the floor")
            try await expectError(.fetchAgain, "below the floor") {
                _ = try await store.changes(after: Revision(3), limit: 10)
            }
            try await expectError(.fetchAgain, "below the floor, at one moment") {
                try await store.withReadSnapshot { _ = try $0.changes(after: Revision(0), limit: 10) }
            }
            let rest = try await store.changes(after: Revision(4), limit: 10)
            try expectEqual(rest.map(\.position.number), [5, 6], "what is left")
            try expectEqual(try await store.own.count(nil, in: "items"), 6, "records")
        },
        ConformanceCase("the floor never sinks and never passes the last position") { store in
            for _ in 0..<3 { try await store.own.create(["name": "a"], in: "items") }
            let all = try await store.compact(.through(Revision(99)), dryRun: false)
            try expectEqual(all, Compaction(floor: Revision(3), entries: 3, outcomes: 0), "all that there is")
            let none = try await store.compact(.through(Revision(1)), dryRun: false)
            try expectEqual(none, Compaction(floor: Revision(3), entries: 0, outcomes: 0), "nothing more")
            try expectEqual(try await store.changes(after: Revision(3), limit: 10), [], "the empty log")
            let next = try await store.own.create(["name": "a"], in: "items")
            try expectEqual(next.revision, Revision(4), "positions go on")
            try await store.withReadSnapshot { snapshot in
                try expectEqual(snapshot.position, Revision(4), "the position")
                try expectEqual(snapshot.floor, Revision(3), "the floor")
            }
        },
        ConformanceCase("compaction keeps what is not older than its instant") { store in
            for _ in 0..<3 { try await store.own.create(["name": "a"], in: "items") }
            let log = try await store.changes(after: Revision(0), limit: 10)
            let none = try await store.compact(.before(log[0].time), dryRun: false)
            try expectEqual(none, Compaction(floor: Revision(0), entries: 0, outcomes: 0), "at the first entry")
            let later = WireDate(secondsSinceReferenceDate: log[2].time.secondsSinceReferenceDate + 1)
            let all = try await store.compact(.before(later), dryRun: false)
            try expectEqual(all.entries, 3, "after the last entry")
        },
        ConformanceCase("compaction removes old outcomes, but of no client the last") { store in
            for sequence: Int64 in 1...3 {
                try await remember(sequence, in: store)
                try await store.own.create(["name": "a"], in: "items")
            }
            try await store.transact(weight: 1) { try $0.keep(losing("x", 1)) }
            let done = try await store.compact(.through(try await store.exactPosition()), dryRun: false)
            try expectEqual(done.outcomes, 2, "outcomes removed")
            try await store.withReadSnapshot { snapshot in
                try expectEqual(try snapshot.outcome(of: 1, from: "c"), nil, "an old one")
                try expect(try snapshot.outcome(of: 3, from: "c") != nil, "the last is there")
                try expectEqual(try snapshot.keptCopies(.all, before: nil, limit: 9).count, 1, "kept copies")
            }
        },
        ConformanceCase("losing copies go where they were kept before an instant, and no others") { store in
            try await store.transact(weight: 1) { transaction in
                for sequence: Int64 in 1...3 { try transaction.keep(losing("x", sequence)) }
            }
            let time = try await store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 9) }[0].time
            let later = WireDate(secondsSinceReferenceDate: time.secondsSinceReferenceDate + 1)
            try expectEqual(try await store.forgetCopies(keptBefore: time, dryRun: false), 0, "at their instant")
            try expectEqual(try await store.forgetCopies(keptBefore: later, dryRun: true), 3, "a dry run")
            try expectEqual(try await store.forgetCopies(keptBefore: later, dryRun: false), 3, "after it")
            try expectEqual(try await store.forgetCopies(keptBefore: later, dryRun: false), 0, "again")
            try await store.transact(weight: 1) { try $0.keep(losing("x", 4)) }
            let left = try await store.withReadSnapshot { try $0.keptCopies(.all, before: nil, limit: 9) }
            try expectEqual(left.map(\.copy.sequence), [4], "what is left")
        },
    ]
}
