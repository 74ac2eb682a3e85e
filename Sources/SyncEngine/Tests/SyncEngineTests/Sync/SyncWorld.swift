import AdapterKit
import MemoryStore
import RecordStorage
import StoreConformance
import SyncEngine
import SyncMessages

/// A store with groups, owners and attributes, and the machines over it.
struct SyncWorld {
    let store: MemoryStore
    /// The same with a position that lags: what everything but the tests themselves sees.
    let lagging: LaggingStore
    let catalogue: SyncCatalogue
    let pulls: PullMachine
    let pushes: PushMachine
    /// Settles conflicts of `decided`.
    var resolver: @Sendable (PendingConflict) async -> Result<ConflictResolution, PorticoError> = { _ in .success(.keep)
    }
    /// What storing this record throws.
    var fails: [RecordID: PorticoError] = [:]

    /// `given`: what the configuration says of entities' rights.
    init(
        limits: PullLimits = PullLimits(), image: MemoryTables = MemoryTables(), epoch: Epoch = Epoch("one"),
        given: [EntityName: AccessRights] = [:]
    ) async throws {
        store = MemoryStore(image, epoch: epoch, clock: StillClock())
        lagging = LaggingStore(store, seed: 42)
        try await store.install(
            [Self.declaration].flatMap { declaration in
                declaration.entities.map { CollectionDeclaration(adapter: declaration.name, entity: $0) }
            })
        catalogue = SyncCatalogue([Self.declaration.granting(Self.declaration.access, entities: given).decidingWriters])
        pulls = PullMachine(catalogue: catalogue, epoch: epoch, seal: CountingSeal(), limits: limits)
        pushes = PushMachine(catalogue: catalogue, epoch: epoch, seal: CountingSeal())
    }

    /// On the adapter's own authority.
    var own: AdapterRecords { AdapterRecords(store: lagging, declaration: Self.declaration) }

    func seen(by principal: Principal) -> AdapterRecords {
        AdapterRecords(store: lagging, declaration: Self.declaration, principal: principal)
    }

    func page(_ request: PullRequest, for principal: Principal) async throws -> PullPage {
        let pulls = pulls
        return try await lagging.withReadSnapshot { try pulls.page(request, for: SyncCaller(principal), at: $0) }
    }

    func push(
        _ mutations: [Mutation], from client: String, of principal: Principal, checkpoint: String? = nil
    ) async throws -> [MutationOutcome] {
        let request = PushRequest(clientID: client, checkpoint: checkpoint, mutations: mutations)
        let plan = try pushes.plan(request, for: SyncCaller(principal))
        var run = PushExecution(plan)
        while let part = run.next {
            do { run.made(try await perform(part)) } catch { try run.failed(error) }
            if let conflict = run.pendingConflict { run.decided(await resolver(conflict)) }
        }
        return run.outcomes
    }

    private func perform(_ part: PushPlan) async throws -> PushProgress {
        let (pushes, fails) = (pushes, fails)
        return try await lagging.transact(weight: 1) {
            try pushes.perform(part, in: FailingTransaction($0, fails))
        }
    }

    static func user(_ name: String, roles: Set<RoleName> = [], region: String? = nil) -> Principal {
        Principal(
            kind: .user, id: "id-\(name)", name: name, roles: roles,
            attributes: region.map { ["region": $0] } ?? [:])
    }
}

extension SyncWorld {
    static let declaration = AdapterDeclaration(
        name: "world", title: "World", summary: "For tests.", version: "1",
        access: AccessRights(read: .login, write: .login),
        entities: [
            Entity(
                "rooms", summary: "Groups.", key: EntityKey("id"),
                fields: [Field("id", .string), Field("members", .list(of: .string)), Field("title", .string)],
                rows: RowRules(read: .sharedWith("members"), write: .sharedWith("members"))),
            Entity(
                "messages", summary: "Seen by members, authors and auditors.", key: EntityKey("id"),
                fields: [
                    Field("id", .string), Field("room", .string), Field("author", .string), Field("text", .string),
                ],
                rows: RowRules(
                    read: .any([
                        .owner("author"), .memberOf("rooms", through: "room", members: "members"), .hasRole("auditor"),
                    ]), write: .everyone)),
            Entity(
                "notices", summary: "Of a room, with which they go.", key: EntityKey("id"),
                fields: [Field("id", .string), Field("room", .string)],
                parents: [ParentReference("room", in: "rooms")], rows: RowRules(read: .everyone, write: .everyone)),
            Entity(
                "pupils", summary: "Seen in one's own region.", key: EntityKey("number"),
                fields: [Field("number", .integer), Field("region", .string), Field("secret", .bool)],
                rows: RowRules(
                    read: .all([.attributeEquals("region", attribute: "region"), .not(.fieldIsOneOf("secret", [true]))]
                    ),
                    write: .everyone)),
            notes("notes", .merge), notes("rejecting", .reject), notes("lastWins", .lastWriterWins),
            notes("decided", .adapterDecides),
        ])

    private static func notes(_ name: EntityName, _ policy: ConflictPolicy) -> Entity {
        Entity(
            name, summary: "Owned and shared.", key: EntityKey("id"),
            fields: [
                Field("id", .string), Field("owner", .string, source: .creator),
                Field("sharedWith", .list(of: .string)), Field("title", .string(maximumLength: 20)),
                Field("text", .string),
            ],
            rows: RowRules(read: .any([.owner("owner"), .sharedWith("sharedWith")]), write: .owner("owner")),
            conflictPolicy: policy)
    }
}

/// Stands still: nothing here may depend on time.
struct StillClock: WallClock {
    func now() -> WireDate { WireDate(secondsSinceReferenceDate: 0) }
}

/// Not secret, but it notices every change.
struct CountingSeal: CheckpointSeal {
    func code(for bytes: [UInt8]) -> [UInt8] {
        var sum: UInt64 = 7
        for byte in bytes { sum = (sum &+ UInt64(byte)) &* 0x100_0000_01B3 }
        return (0..<16).map { UInt8(truncatingIfNeeded: sum >> UInt64(($0 % 8) * 8)) }
    }

    func isCode(_ code: [UInt8], for bytes: [UInt8]) -> Bool { code == self.code(for: bytes) }
}
