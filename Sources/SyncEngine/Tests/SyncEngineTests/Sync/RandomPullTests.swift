import AdapterKit
import MemoryStore
import RecordStorage
import SyncEngine
import SyncMessages
import Testing

@Suite struct RandomPullTests {
    /// Groups, shares, regions and roles change while devices pull pages of any size, are cut off, and start over.
    @Test(arguments: 0..<UInt64(60))
    func `whatever happens in between, a completed pull is what its user may see`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var limits = PullLimits()
        limits.scan = random.number(2...30)
        limits.pageBytes = random.number(1...600)
        limits.regrant = random.number(1...6)
        let world = try await SyncWorld(limits: limits)
        var devices = ["ann", "ben", "cid"].map { PlainDevice(SyncWorld.user($0, region: "north")) }
        for _ in 0..<150 {
            if random.chance(0.6) {
                try await Changes(world: world).make(&random)
                continue
            }
            let index = random.number(0...2)
            if random.chance(0.05) { devices[index].principal = random.principal(devices[index].principal.name) }
            if random.chance(0.02) { devices[index].forget() }
            if random.chance(0.05) { devices[index].abandon() }
            if try await devices[index].step(world, limit: random.number(1...8)) {
                try await check(devices[index], world)
            }
        }
        for index in devices.indices {
            try await devices[index].pull(world, limit: 3)
            try await check(devices[index], world)
        }
    }

    /// Streams of live sync are answered together: the caller that asks after whom must not change what anybody is told.
    @Test(arguments: 0..<UInt64(20))
    func `a snapshot that caches returns to every caller what the store does`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var limits = PullLimits()
        limits.scan = random.number(2...30)
        limits.pageBytes = random.number(1...600)
        let world = try await SyncWorld(limits: limits)
        var devices = ["ann", "ben", "cid"].map { PlainDevice(SyncWorld.user($0, region: "north")) }
        for _ in 0..<30 {
            for _ in 0..<random.number(1...5) { try await Changes(world: world).make(&random) }
            let queries = devices.map {
                (PullRequest(checkpoint: $0.checkpoint, limit: random.number(1...8)), SyncCaller($0.principal))
            }
            let pulls = world.pulls
            try await world.store.withReadSnapshot { snapshot in
                let remembering = CachingSnapshot(snapshot)
                for (request, caller) in queries + queries {
                    let page = try pulls.page(request, for: caller, at: snapshot)
                    #expect(try pulls.page(request, for: caller, at: remembering) == page)
                }
            }
            try await devices[random.number(0...2)].pull(world)
        }
    }

    private func check(_ device: PlainDevice, _ world: SyncWorld) async throws {
        #expect(device.disagreeing == [])
        for collection in world.catalogue.collections {
            let seen = try await world.seen(by: device.principal).query(
                Query(limit: 10_000), in: collection.entity.name)
            let expected = seen.records.map { [$0.id.text, $0.revision.description] }.sorted { $0[0] < $1[0] }
            let found = device.rows.filter { $0.key.collection == collection.name }.values
                .map { [$0.id, String($0.rev)] }.sorted { $0[0] < $1[0] }
            #expect(found == expected, "\(collection.name) of \(device.principal.name)")
        }
    }
}

/// Random changes of the world, on its own authority.
private struct Changes {
    let world: SyncWorld

    func make(_ random: inout SeededRandom) async throws {
        let rooms = ["r1", "r2", "r3"]
        let people = ["ann", "ben", "cid"]
        switch random.number(0...9) {
        case 0...1:
            let members = people.filter { _ in random.chance(0.5) }
            try await replace("rooms", random.one(rooms), ["members": .array(members.map(WireValue.string))])
        case 2: try await remove("rooms", random.one(rooms))
        case 3...5:
            try await replace(
                "messages", "m\(random.number(0...12))",
                ["room": .string(random.one(rooms)), "author": .string(random.one(people + ["dan"]))])
        case 6: try await remove("messages", "m\(random.number(0...12))")
        case 7:
            try await replace(
                "pupils", String(random.number(0...8)),
                ["region": .string(random.one(["north", "south"])), "secret": .bool(random.chance(0.3))])
        case 8: try await remove("pupils", String(random.number(0...8)))
        default:
            let readers = people.filter { _ in random.chance(0.4) }
            try await replace(
                "notes", "n\(random.number(0...6))", ["sharedWith": .array(readers.map(WireValue.string))])
        }
    }

    private func replace(_ entity: EntityName, _ id: String, _ fields: WireDictionary) async throws {
        let change = RecordChange(entity, .replace(RecordID(unchecked: id), fields, orCreate: true))
        _ = try await world.own.apply([change])
    }

    private func remove(_ entity: EntityName, _ id: String) async throws {
        do {
            try await world.own.delete(RecordID(unchecked: id), in: entity)
        } catch let error as PorticoError where error.code == .recordNotFound {}
    }
}

extension SeededRandom {
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }
    mutating func one(_ texts: [String]) -> String { texts[number(0...texts.count - 1)] }

    mutating func principal(_ name: String) -> Principal {
        let region: String? = chance(0.2) ? nil : one(["north", "south"])
        return SyncWorld.user(name, roles: chance(0.3) ? ["auditor"] : [], region: region)
    }
}
