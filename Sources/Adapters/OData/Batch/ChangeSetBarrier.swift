import AdapterKit

/// Where the requests of one change set wait for each other: each runs until it writes, then is held; when all have got
/// that far their changes are made in one transaction, and all go on as if each had written alone.
///
/// So every kind of request can be in a change set without knowing of it, what one creates the next ones see, and nothing
/// is written unless all can be.
actor ChangeSetBarrier {
    private enum State {
        case collecting
        case decided(Result<WriteReceipt, PorticoError>)
    }

    private var state = State.collecting
    private var changes: [RecordChange] = []
    private var outlook = ChangeSetPreview()
    private var held: [CheckedContinuation<Void, Never>] = []
    private var inbound: [CheckedContinuation<Void, Never>] = []
    private var hasArrived = false

    /// Holds the changes until all are decided; gives what became of them. After that later changes of a request go by
    /// themselves: nil.
    func hold(_ more: [RecordChange]) async throws(PorticoError) -> WriteReceipt? {
        if case .decided(let result) = state {
            // Who tries again after a failure must not write alone what was to happen together.
            _ = try result.get()
            return nil
        }
        let range = changes.count..<(changes.count + more.count)
        changes += more
        for change in more { outlook.add(change) }
        arrive()
        await withCheckedContinuation { held.append($0) }
        guard case .decided(let result) = state else { return nil }
        let receipt = try result.get()
        return WriteReceipt(position: receipt.position, records: Array(receipt.records[range]))
    }

    /// Waits until the request that was let in holds or has ended.
    func waitForArrival() async {
        if !hasArrived { await withCheckedContinuation { inbound.append($0) } }
        hasArrived = false
    }

    /// The request holds changes, or has ended without.
    func arrive() {
        hasArrived = true
        let waiting = inbound
        inbound = []
        for one in waiting { one.resume() }
    }

    /// All changes in one transaction, or none of them; then everybody goes on.
    func commit(to records: any RecordStore) async {
        let result: Result<WriteReceipt, PorticoError>
        do {
            result = .success(
                changes.isEmpty
                    ? WriteReceipt(position: Revision(0), records: []) : try await records.apply(changes))
        } catch let error as PorticoError {
            result = .failure(error)
        } catch {
            result = .failure(PorticoError(.serverInternal, "The change set failed.", logDetail: "\(error)"))
        }
        decide(result)
    }

    func abandon() {
        decide(.failure(PorticoError(.requestInvalid, "Another request of the change set failed.")))
    }

    private func decide(_ result: Result<WriteReceipt, PorticoError>) {
        state = .decided(result)
        let waiting = held
        held = []
        for one in waiting { one.resume() }
    }

    // MARK: What is held

    /// A record as the change set leaves it, of what is there now.
    func record(_ id: RecordID, in entity: EntityName, _ current: Record?) -> Record? {
        guard case .collecting = state else { return current }
        return outlook.record(id, in: entity, current)
    }

    func has(_ id: RecordID, in entity: EntityName) -> Bool { outlook.has(id, in: entity) }

    /// The first record of an entity that was created since so many changes.
    func created(in entity: EntityName, since count: Int) -> (RecordID, WireDictionary)? {
        for change in changes.dropFirst(count) where change.entity == entity {
            if case .create(let id?, let fields) = change.action { return (id, fields) }
        }
        return nil
    }

    var count: Int { changes.count }
}
