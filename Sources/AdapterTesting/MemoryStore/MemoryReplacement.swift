import AdapterKit
import RecordStorage
import Synchronization

extension MemoryStore: MirrorStore {
    public func beginReplacement(of collection: CollectionID) async throws -> any RecordReplacement {
        let tables = try image
        _ = try tables.collection(collection)
        return MemoryReplacement(of: collection, in: self, start: tables.position)
    }
}

/// A snapshot that gathers in memory.
final class MemoryReplacement: RecordReplacement {
    private struct Staged {
        /// The first row of each key, in the order in which they came.
        var rows: [RecordID: (draft: RecordDraft, fields: StagedFields)] = [:]
        var order: [RecordID] = []
        var kept: Set<RecordID> = []
        var repeated = 0
    }

    let start: Revision
    private let collection: CollectionID
    private let store: MemoryStore
    private let staged = Mutex(Staged())

    init(of collection: CollectionID, in store: MemoryStore, start: Revision) {
        self.collection = collection
        self.store = store
        self.start = start
    }

    func stage(_ rows: [RecordDraft], keeping: [RecordID], _ fields: StagedFields) async throws {
        staged.withLock { staged in
            staged.kept.formUnion(keeping)
            for row in rows {
                guard let id = row.id else { continue }
                guard staged.rows[id] == nil else {
                    staged.repeated += 1
                    continue
                }
                staged.rows[id] = (row, fields)
                staged.order.append(id)
            }
        }
    }

    func difference() async throws -> ReplacementDifference {
        let staged = staged.withLock { $0 }
        let tables = try store.image
        return try plan(staged, ReplacementOptions(), in: tables, except: changedByOthers(tables), at: nil).difference
    }

    func sample(_ limit: Int, _ options: ReplacementOptions) async throws -> ReplacementSample {
        let staged = staged.withLock { $0 }
        let tables = try store.image
        var sample = ReplacementSample()
        for step in try plan(staged, options, in: tables, except: changedByOthers(tables), at: nil).steps {
            let after = step.fields.map { Record(id: step.id, revision: tables.next, fields: $0) }
            switch (step.before, after) {
            case (nil, let after?): if sample.created.count < limit { sample.created.append(after) }
            case (let before?, nil): if sample.deleted.count < limit { sample.deleted.append(before) }
            case (let before?, let after?):
                if sample.updated.count < limit { sample.updated.append(.init(before: before, after: after)) }
            case (nil, nil): break
            }
        }
        return sample
    }

    func apply(_ options: ReplacementOptions) async throws -> ReplacementResult {
        let staged = staged.withLock { $0 }
        return try await store.transact(weight: staged.order.count) { transaction in
            guard let transaction = transaction as? MemoryTransaction else {
                throw PorticoError(.serverInternal, "The transaction is of another store.")
            }
            let others = try self.changedByOthers(transaction.tables).union(options.protecting(transaction))
            return try transaction.change { tables in
                let plan = try self.plan(staged, options, in: tables, except: others, at: transaction.now)
                let isWhole = plan.difference.changes > options.transactionLimit
                if isWhole { tables.noteReplacement(of: self.collection, at: transaction.now) }
                for step in plan.steps { try self.make(step, in: &tables, isWhole: isWhole, at: transaction.now) }
                if let state = options.state { tables.mirrors[self.collection] = state }
                return ReplacementResult(position: tables.position, difference: plan.difference, isWhole: isWhole)
            }
        }
    }

    func discard() async throws { staged.withLock { $0 = Staged() } }

    /// One record that comes, changes or, where there are no fields, goes.
    private struct Step {
        let id: RecordID
        let before: Record?
        let fields: WireDictionary?
    }

    private func make(_ step: Step, in tables: inout MemoryTables, isWhole: Bool, at time: WireDate) throws {
        if isWhole {
            let record = step.fields.map { Record(id: step.id, revision: tables.position, fields: $0) }
            tables.collections[collection]?.put(record, at: step.id)
        } else if let fields = step.fields {
            let record = Record(id: step.id, revision: tables.next, fields: fields)
            tables.put(record, inPlaceOf: step.before, in: collection, at: time)
        } else if let before = step.before {
            try tables.remove(before, in: collection, by: "", at: time)
        }
    }

    private func changedByOthers(_ tables: MemoryTables) throws -> Set<RecordID> {
        Set(try tables.changes(after: start, limit: .max).filter { $0.collection == collection }.map(\.id))
    }

    /// `time`: what `modifiedAt` fields get; nil: it does not matter.
    private func plan(
        _ staged: Staged, _ options: ReplacementOptions, in tables: MemoryTables, except others: Set<RecordID>,
        at time: WireDate?
    ) throws -> (difference: ReplacementDifference, steps: [Step]) {
        let memory = try tables.collection(collection)
        var difference = ReplacementDifference()
        difference.known = memory.records.count
        difference.repeated = staged.repeated
        var steps: [Step] = []
        for (id, record) in memory.records.sorted(by: { $0.key.text < $1.key.text }) where !others.contains(id) {
            let isMissing = options.deletesMissing && staged.rows[id] == nil && !staged.kept.contains(id)
            guard isMissing || options.removing.contains(id) else { continue }
            difference.deleted += 1
            steps.append(Step(id: id, before: record, fields: nil))
        }
        for id in staged.order where !others.contains(id) && !options.removing.contains(id) {
            guard let row = staged.rows[id] else { continue }
            guard let known = memory.records[id] else {
                difference.created += 1
                steps.append(Step(id: id, before: nil, fields: memory.entity.completing(row.draft)))
                continue
            }
            let time = time ?? WireDate(secondsSinceReferenceDate: 0)
            guard let merged = memory.entity.merging(row.draft, into: known, at: time, row.fields) else { continue }
            difference.updated += 1
            if merged.isExtended { difference.extended += 1 }
            steps.append(Step(id: id, before: known, fields: merged.fields))
        }
        return (difference, steps)
    }
}
