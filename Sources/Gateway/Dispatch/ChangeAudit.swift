import AdapterKit
import Identity
import RecordStorage
import SyncEngine
import SyncMessages

/// Records in the audit log what callers change of directories: records of which no row rule says whose they are. What may
/// be written without a login is left out: there is no caller to name.
struct ChangeAudit: Sendable {
    private let record: @Sendable (AuditEvent) async throws -> Void
    private let log: Log

    init(_ identity: Identity, log: Log) {
        record = { try await identity.record($0) }
        self.log = log
    }

    /// For the records of one request; nil where nothing of the adapter is recorded.
    func observer(of declaration: AdapterDeclaration, for request: AuthenticatedRequest) -> (any ChangeObserver)? {
        guard declaration.entities.contains(where: declaration.isDirectory) else { return nil }
        return Observer(
            audit: self, declaration: declaration, actor: request.caller.principal.id, address: request.request.peer)
    }

    /// Of a device's changes, those that were made now.
    func recordMutations(
        _ mutations: [Mutation], _ outcomes: [MutationOutcome], after position: Revision, in catalogue: SyncCatalogue,
        by request: AuthenticatedRequest
    ) async {
        let made = Dictionary(
            outcomes.filter { [.applied, .merged].contains($0.verdict) && $0.rev ?? .max > position.number }.map {
                ($0.sequence, $0)
            }, uniquingKeysWith: { $1 })
        let changes = mutations.compactMap { mutation -> Change? in
            guard made[mutation.sequence] != nil, let collection = catalogue[mutation.collection],
                collection.isDirectory
            else { return nil }
            return Change(place: collection.id.description, id: mutation.id, verb: mutation.operation.rawValue)
        }
        await write(changes, by: request.caller.principal.id, from: request.request.peer)
    }

    fileprivate struct Change {
        let place: String
        let id: String?
        let verb: String
    }

    /// One entry for each kind of record; of a single change with its id.
    fileprivate func write(_ changes: [Change], by actor: String, from address: String) async {
        for (place, some) in Dictionary(grouping: changes, by: \.place).sorted(by: { $0.key < $1.key }) {
            let id = some.count == 1 ? some[0].id : nil
            let verbs = Dictionary(grouping: some, by: \.verb).sorted { $0.key < $1.key }
            let event = AuditEvent(
                .recordChanged, actor: actor, subject: place + (id.map { "/\($0)" } ?? ""), address: address,
                detail: some.count == 1
                    ? some[0].verb : verbs.map { "\($0.key) \($0.value.count)" }.joined(separator: ", "))
            do {
                try await record(event)
            } catch {
                // What was done is done.
                log.error(
                    "a caller's change is not in the audit log",
                    ["actor": .text(actor), "subject": .text(event.subject), "detail": .text("\(error)")])
            }
        }
    }
}

private struct Observer: ChangeObserver {
    let audit: ChangeAudit
    let declaration: AdapterDeclaration
    let actor: String
    let address: String

    func noteChanges(_ changes: [RecordChange], _ receipt: WriteReceipt) async {
        let made = changes.enumerated().compactMap { index, change -> ChangeAudit.Change? in
            guard let entity = declaration.entity(change.entity), declaration.isDirectory(entity) else { return nil }
            let record = receipt.records.indices.contains(index) ? receipt.records[index] : nil
            return ChangeAudit.Change(
                place: "\(declaration.name)/\(entity.name)", id: change.action.id?.text ?? record?.id.text,
                verb: change.action.verb)
        }
        await audit.write(made, by: actor, from: address)
    }
}

extension RecordChange.Action {
    fileprivate var id: RecordID? {
        switch self {
        case .create(let id, _): id
        case .update(let id, _), .replace(let id, _, _), .delete(let id): id
        }
    }

    fileprivate var verb: String {
        switch self {
        case .create: "create"
        case .update: "update"
        case .replace: "replace"
        case .delete: "delete"
        }
    }
}

extension AdapterDeclaration {
    /// Whether no row rule says whose an entity's records are, and callers with a name may change them.
    fileprivate func isDirectory(_ entity: Entity) -> Bool {
        let writers = writers(of: entity)
        return entity.exposure == .resource && !entity.rows.write.bindsRowsToCallers && writers != .public
            && !writers.isNobody
    }
}

extension SyncCollection {
    fileprivate var isDirectory: Bool {
        !entity.rows.write.bindsRowsToCallers && writers != .public && !writers.isNobody
    }
}
