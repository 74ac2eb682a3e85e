import AdapterKit
import RecordStorage

extension StoreConformance {
    static let pushCases = [
        ConformanceCase("an outcome is stored with its effect and returned again") { store in
            let content: WireDictionary = ["outcome": "applied", "nested": [1, .null, .data([0])]]
            try await store.transact(weight: 1) { transaction in
                _ = try transaction.apply(creating("x"))
                try transaction.remember(content, of: 7, from: "c", of: "id-ann")
            }
            try await store.withReadSnapshot { snapshot in
                let outcome = try snapshot.outcome(of: 7, from: "c")
                try expectEqual(
                    outcome, PushOutcome(client: "c", sequence: 7, content: content, position: snapshot.position),
                    "the outcome")
                let client = try snapshot.client("c")
                try expectEqual(client?.identity, "id-ann", "whose client it is")
                try expectEqual(client?.lastSequence, 7, "the last sequence number")
                try expectEqual(try snapshot.outcome(of: 6, from: "c"), nil, "another sequence number")
                try expectEqual(try snapshot.outcome(of: 7, from: "d"), nil, "another client")
                try expectEqual(try snapshot.client("d"), nil, "an unknown client")
            }
        },
        ConformanceCase("a sequence number has one outcome, and a client one identity") { store in
            try await remember(2, in: store)
            for sequence: Int64 in [1, 2] {
                try await expectError(.recordExists, "number \(sequence)") { try await remember(sequence, in: store) }
            }
            try await expectError(.accessDenied, "another identity") {
                try await remember(3, by: "id-bob", in: store)
            }
            try await remember(3, in: store)
            try await store.withReadSnapshot { snapshot in
                try expectEqual(try snapshot.client("c")?.lastSequence, 3, "the last sequence number")
            }
        },
        ConformanceCase("clients are listed by their ids") { store in
            for client: ClientID in ["b", "a", "c"] { try await remember(1, from: client, in: store) }
            try await store.withReadSnapshot { snapshot in
                try expectEqual(try snapshot.clients(after: nil, limit: 2).map(\.id), ["a", "b"], "the first page")
                try expectEqual(try snapshot.clients(after: "b", limit: 2).map(\.id), ["c"], "the second page")
            }
        },
        ConformanceCase("the clients of one identity are forgotten with their answers, and may be another's then") {
            store in
            for client: ClientID in ["a", "b"] { try await remember(1, from: client, in: store) }
            try await remember(1, from: "c", by: "id-bob", in: store)
            let count = try await store.transact(weight: 1) { try $0.forgetClients(of: "id-ann") }
            try expectEqual(count, 2, "how many")
            try await store.withReadSnapshot { snapshot in
                try expectEqual(try snapshot.clients(after: nil, limit: 9).map(\.id), ["c"], "the clients")
                try expectEqual(try snapshot.outcome(of: 1, from: "a"), nil, "an answer")
                try expect(try snapshot.outcome(of: 1, from: "c") != nil, "another's answer")
            }
            try await remember(1, from: "a", by: "id-bob", in: store)
            let none = try await store.transact(weight: 1) { try $0.forgetClients(of: "id-ann") }
            try expectEqual(none, 0, "the second time")
        },
        ConformanceCase("losing copies stay readable, newest first") { store in
            try await store.transact(weight: 1) { transaction in
                for sequence: Int64 in 1...3 { try transaction.keep(losing(sequence == 2 ? "y" : "x", sequence)) }
            }
            try await store.withReadSnapshot { snapshot in
                let all = try snapshot.keptCopies(.all, before: nil, limit: 10)
                try expectEqual(all.map(\.copy), [losing("x", 3), losing("y", 2), losing("x", 1)], "all")
                let ofX = try snapshot.keptCopies(.of("x", in: Samples.itemsID), before: all[0].number, limit: 10)
                try expectEqual(ofX.map(\.copy.sequence), [1], "older ones of one record")
                try expectEqual(try snapshot.keptCopies(.of("x", in: Samples.ticketsID), before: nil, limit: 1), [], "")
            }
        },
        ConformanceCase("of one author's losing copies the newest are kept, and all of another's") { store in
            let count = Int64(KeptCopiesShare.copies) + 5 * KeptCopiesShare.interval
            try await store.transact(weight: 1) { try $0.keep(losing("y", 1, by: "bob")) }
            for first in stride(from: 1, through: count, by: 100) {
                try await store.transact(weight: 100) { transaction in
                    for sequence in first..<min(first + 100, count + 1) {
                        try transaction.keep(losing("x", sequence))
                    }
                }
            }
            try await store.withReadSnapshot { snapshot in
                let all = try snapshot.keptCopies(.all, before: nil, limit: 10_000).map(\.copy)
                let own = all.filter { $0.author == "ann" }
                try expect(own.count >= KeptCopiesShare.copies, "as many as the share has")
                try expect(own.count <= KeptCopiesShare.copies + Int(KeptCopiesShare.interval), "no more")
                try expectEqual(own.first?.sequence, count, "the newest")
                try expectEqual(all.count - own.count, 1, "another author's")
            }
        },
        ConformanceCase("one author's losing copies are small together") { store in
            let large = String(repeating: "a", count: KeptCopiesShare.bytes / 8)
            for sequence in 1...2 * KeptCopiesShare.interval {
                try await store.transact(weight: 1) { try $0.keep(losing("x", sequence, text: large)) }
            }
            try await store.withReadSnapshot { snapshot in
                let kept = try snapshot.keptCopies(.all, before: nil, limit: 100).map(\.copy.sequence)
                try expectEqual(kept.first, 2 * KeptCopiesShare.interval, "the newest")
                try expect(kept.count < 8, "what fits")
            }
        },
    ]

    static func remember(
        _ sequence: Int64, from client: ClientID = "c", by identity: String = "id-ann", in store: any Store
    ) async throws {
        try await store.transact(weight: 1) { transaction in
            try transaction.remember(["n": .int64(sequence)], of: sequence, from: client, of: identity)
        }
    }
}
