import AdapterKit

/// Makes changes on a caller's behalf: within the row rules, which their steps carry, and the adapter's own rules. The
/// only way in which a change that a caller asks for reaches a store, from any interface.
///
/// A change of a mirror is kept as a ``PendingWrite`` in the same transaction.
package struct AuthorizedWrite {
    let declaration: AdapterDeclaration
    let principal: Principal
    let epoch: Epoch
    let origin: WriteOrigin
    let transaction: any StoreTransaction
    let answers: RuleAnswers?

    /// `answers`: needed for rules in another process, which refuse every change without it.
    package init(
        declaration: AdapterDeclaration, principal: Principal, epoch: Epoch, origin: WriteOrigin = WriteOrigin(),
        transaction: any StoreTransaction, answers: RuleAnswers? = nil
    ) {
        self.declaration = declaration
        self.principal = principal
        self.epoch = epoch
        self.origin = origin
        self.transaction = transaction
        self.answers = answers
    }

    /// All of the steps or none; the transaction goes on either way. One record for each step, and the position of the
    /// last of them.
    ///
    /// Throws ``UnansweredRules`` where rules in another process have to be asked first, `request.limitExceeded` where
    /// their reads take more than a ``RuleReadBudget``, and `CancellationError` where the caller of
    /// ``RuleAnswers/settling(_:_:)`` is cancelled.
    package func apply(_ steps: [WriteTransaction.Step]) throws -> WriteReceipt {
        try useKey(for: steps)
        return try make(steps)
    }

    private func make(_ steps: [WriteTransaction.Step]) throws -> WriteReceipt {
        guard let rules = declaration.rules else { return try write(steps) }
        return try transaction.undoing {
            guard let remote = rules as? any RemoteRecordRules,
                let known = answers?.answers(of: declaration.name, remote)
            else { return try make(steps, under: .local(rules), rules.maximumFirst) }
            known.begin(at: transaction.position)
            do {
                let receipt = try make(steps, under: .remote(known), rules.maximumFirst)
                if known.isComplete { return receipt }
            } catch let error as CancellationError {
                throw error
            } catch let exceeded as RuleReadsExceeded {
                throw exceeded.asError
            } catch  where !known.isComplete {
                // It comes of going on without an answer, and says nothing.
            }
            throw UnansweredRules()
        }
    }

    private func make(
        _ steps: [WriteTransaction.Step], under rules: RecordRulesExecution.Rules, _ maximumFirst: Int
    ) throws -> WriteReceipt {
        var run = RecordRulesExecution(write: self, rules: rules, maximumFirst: maximumFirst)
        for step in steps { try run.apply(step) }
        return try run.finish()
    }

    /// Checks a change as ``apply(_:)`` does, changes no record, and keeps it as a pending write that a caller waits for.
    func propose(_ step: WriteTransaction.Step) throws -> RecordID {
        var proposed: PendingChange?
        do {
            try transaction.undoing {
                let before = try step.change.recordID.flatMap { try record($0, step.collection) }
                let receipt = try make([step])
                let after = receipt.records.first ?? nil
                proposed = declaration.entity(step.change.entity).flatMap {
                    PendingChange(step, of: $0, before: before, after: after)
                }
                throw Undoing()
            }
        } catch is Undoing {}
        guard let proposed else { throw PorticoError(.recordNotFound, "There is no such record.") }
        let earlier = try transaction.pendingWrites(of: proposed.record, in: proposed.collection)
        guard !earlier.contains(where: { $0.isLocking(at: transaction.now) }) else {
            throw PorticoError(
                .recordConflict, "It is unknown whether an earlier change of this record was made.")
        }
        try useKey(for: [step])
        return try transaction.addPendingWrite(
            proposed, isThrough: true, origin: origin, author: principal.name, epoch: epoch)
    }

    private struct Undoing: Error {}

    /// Throws `request.keyReused` for a key that the caller chose and that came with another change before. To be called
    /// within what is undone where the change is not made: then the key was not used.
    private func useKey(for steps: [WriteTransaction.Step]) throws {
        guard origin.isKeyOfCaller, let key = origin.idempotencyKey, declaration.isWrittenElsewhere(steps) else {
            return
        }
        try transaction.use(key, of: principal.name, for: WriteTransaction.Step.digest(of: steps))
    }

    fileprivate func write(_ steps: [WriteTransaction.Step]) throws -> WriteReceipt {
        guard declaration.isWrittenElsewhere(steps) else {
            return try transaction.apply(WriteTransaction(steps, author: principal.name))
        }
        return try transaction.undoing {
            var position = transaction.position
            var records: [Record?] = []
            for (index, step) in steps.enumerated() {
                let before = try step.change.recordID.flatMap { try record($0, step.collection) }
                let receipt = try transaction.apply(WriteTransaction([step], author: principal.name))
                position = receipt.position
                records += receipt.records
                guard declaration.isWrittenElsewhere(step.change.entity),
                    let entity = declaration.entity(step.change.entity),
                    let change = PendingChange(step, of: entity, before: before, after: receipt.records.first ?? nil)
                else { continue }
                try transaction.addPendingWrite(
                    change, isThrough: false, origin: origin.part(index, of: steps.count), author: principal.name,
                    epoch: epoch)
            }
            return WriteReceipt(position: position, records: records)
        }
    }

    private func record(_ id: RecordID, _ collection: CollectionID) throws -> Record? {
        try transaction.record(id, in: collection, visible: nil)
    }

    fileprivate var writing: RecordRuleContext {
        RecordRuleContext(snapshot: snapshot, caller: principal, now: transaction.now)
    }

    /// For a record that the caller has changed. `own`: the records of the caller's changes.
    fileprivate func verifying(_ earlier: Record?, own: [EntityName: [RecordID: Record?]]) -> RecordRuleContext {
        RecordRuleContext(snapshot: snapshot, caller: principal, now: transaction.now, earlier: earlier) { id, entity in
            try own[entity]?[id] != nil || isWithinReach(id, of: entity)
        }
    }

    private var snapshot: AdapterSnapshot {
        AdapterSnapshot(snapshot: transaction, declaration: declaration, principal: nil, epoch: epoch)
    }

    /// Whether the caller may read or change the record: who may change it finds out by a change whether it is there.
    private func isWithinReach(_ id: RecordID, of entity: EntityName) throws -> Bool {
        let scope = try EntityScope(entity, of: declaration, for: principal)
        func allows(_ access: Access, _ rows: Filter?) throws -> Bool {
            guard access.decision(for: principal) == .allowed else { return false }
            return try transaction.record(id, in: scope.collection, visible: rows) != nil
        }
        return try allows(declaration.readers(of: entity), scope.visible)
            || allows(declaration.writers(of: scope.entity), scope.changeable)
    }
}

/// One transaction's changes under an adapter's rules.
private struct RecordRulesExecution {
    enum Rules {
        case local(any RecordRules)
        /// Without an answer the change goes on as it is, so that one transaction finds as many questions as it can.
        case remote(any RemoteRuleAnswers)
    }

    let write: AuthorizedWrite
    let rules: Rules
    let maximumFirst: Int
    /// Changes that the rules have put first.
    private var first = 0
    private var records: [Record?] = []
    private var position = Revision(0)
    /// Records that were put, in order, each once.
    private var touched: [(entity: EntityName, id: RecordID)] = []
    private var known: [EntityName: Set<RecordID>] = [:]
    /// The records of the caller's own changes, as they were before the transaction; nil for new ones.
    private var own: [EntityName: [RecordID: Record?]] = [:]

    init(write: AuthorizedWrite, rules: Rules, maximumFirst: Int) {
        self.write = write
        self.rules = rules
        self.maximumFirst = maximumFirst
    }

    mutating func apply(_ step: WriteTransaction.Step) throws {
        guard case .remote(let answers) = rules else { return try make(step) }
        do {
            try make(step)
        } catch let error as CancellationError {
            throw error
        } catch let exceeded as RuleReadsExceeded {
            throw exceeded
        } catch  where !answers.isComplete {
            // It comes of going on without an answer. The steps behind it have questions too.
        }
    }

    private mutating func make(_ step: WriteTransaction.Step) throws {
        try write.answers?.checkCancellation()
        let current = try self.current(step)
        guard try isWithinReach(step, current) else {
            // The store says what is wrong with it.
            _ = try write.write([step])
            throw PorticoError(.accessDenied, "You may not change this record.")
        }
        guard let entity = write.declaration.entity(step.change.entity) else { return }
        let prepared = try prepare(step.change.withoutRuled(entity), of: current)
        try prepared.checkFirst(atMost: maximumFirst, after: first)
        first += prepared.first.count
        for change in prepared.first {
            try write.answers?.checkCancellation()
            if prepared.asksCaller {
                try EntityScope(change.entity, of: write.declaration, for: write.principal).require(.writes)
            }
            note(change, try write.write([WriteTransaction.Step(adapter: step.adapter, change: change)]))
        }
        let receipt = try write.write([step.making(prepared.change)])
        note(prepared.change, receipt)
        for case let record? in receipt.records where own[step.change.entity]?[record.id] == nil {
            own[step.change.entity, default: [:]][record.id] = .some(current)
        }
        records += receipt.records
        position = receipt.position
    }

    func finish() throws -> WriteReceipt {
        for (entity, id) in touched {
            try write.answers?.checkCancellation()
            let collection = CollectionID(write.declaration.name, entity)
            guard let record = try write.transaction.record(id, in: collection, visible: nil) else { continue }
            switch rules {
            case .local(let rules):
                let context = own[entity]?[id].map { write.verifying($0, own: own) } ?? write.writing
                try rules.verify(record, of: entity, in: context)
            case .remote(let answers):
                try withinBudget { try answers.verify(record, of: entity, in: write.writing) }
            }
        }
        return WriteReceipt(position: position, records: records)
    }

    private func prepare(_ change: RecordChange, of record: Record?) throws -> PreparedChange {
        switch rules {
        case .local(let rules): try rules.prepare(change, of: record, in: write.writing)
        case .remote(let answers):
            try withinBudget { try answers.prepare(change, of: record, in: write.writing) } ?? PreparedChange(change)
        }
    }

    private func withinBudget<Result>(_ body: () throws -> Result) throws -> Result {
        guard let budget = write.answers?.readBudget(of: write.declaration.name) else { return try body() }
        budget.grantQuestion()
        return try write.transaction.reading(within: budget, body)
    }

    /// The record that the step changes, the caller that may see it.
    private func current(_ step: WriteTransaction.Step) throws -> Record? {
        guard let id = step.change.recordID else { return nil }
        return try write.transaction.record(id, in: step.collection, visible: nil)
    }

    /// Whether the caller may learn of the record at all: the rules' refusals name what is in it. A record that is to be
    /// created but is there, or is to be changed but is not, is not theirs to speak of either.
    private func isWithinReach(_ step: WriteTransaction.Step, _ current: Record?) throws -> Bool {
        switch (step.change.action, current) {
        case (.create, nil): return true
        case (.replace(_, _, orCreate: true), nil):
            // A record that is expected to be there is none to create, whether it is absent or out of reach.
            switch step.change.condition {
            case .none, .absent: return true
            case .exists, .revision: return false
            }
        case (.create, .some), (_, nil): return false
        case (_, let record?):
            let reach = Filter.both(step.visible, step.writableBefore)
            return try write.transaction.record(record.id, in: step.collection, visible: reach) != nil
        }
    }

    private mutating func note(_ change: RecordChange, _ receipt: WriteReceipt) {
        for case let record? in receipt.records where known[change.entity, default: []].insert(record.id).inserted {
            touched.append((change.entity, record.id))
            if change.recordID == nil, case .remote(let answers) = rules { answers.noteCreated(record.id) }
        }
    }
}

extension AdapterDeclaration {
    /// Whether callers' changes of the entity go to another system.
    package func isWrittenElsewhere(_ entity: EntityName) -> Bool {
        mirror(of: entity).map { $0.writing != .none } ?? false
    }

    /// Whether one of the changes goes to another system.
    func isWrittenElsewhere(_ steps: [WriteTransaction.Step]) -> Bool {
        !mirrors.isEmpty && steps.contains { isWrittenElsewhere($0.change.entity) }
    }

    /// Whether one of the changes is made in another system first.
    func isWrittenThrough(_ steps: [WriteTransaction.Step]) -> Bool {
        !mirrors.isEmpty && steps.contains { mirror(of: $0.change.entity)?.writing == .through }
    }
}

extension WriteOrigin {
    /// The origin of one of several changes that come together: each has a key of its own.
    fileprivate func part(_ index: Int, of count: Int) -> WriteOrigin {
        guard count > 1, let idempotencyKey else { return self }
        var part = self
        part.idempotencyKey = "\(idempotencyKey).\(index)"
        return part
    }
}

extension StableHash {
    /// Equal for dictionaries in another order.
    fileprivate mutating func add(_ value: WireValue) {
        if let members = value.dictionaryValue {
            add("dictionary \(members.count)")
            for name in members.keys.sorted() {
                add(name)
                add(members[name] ?? .null)
            }
        } else if let elements = value.arrayValue {
            add("array \(elements.count)")
            for element in elements { add(element) }
        } else {
            add("\(value)")
        }
    }
}

extension WriteTransaction.Step {
    /// A digest of what a caller wants, whatever the records are like: equal for a change that comes again.
    fileprivate static func digest(of steps: [WriteTransaction.Step]) -> String {
        var mixer = StableHash()
        for step in steps {
            mixer.add("\(step.collection)")
            mixer.add(step.change.recordID?.text ?? "")
            let fields: WireDictionary
            switch step.change.action {
            case .create(_, let given):
                mixer.add("create")
                fields = given
            case .replace(_, let given, let orCreate):
                mixer.add(orCreate ? "put" : "replace")
                fields = given
            case .update(_, let given):
                mixer.add("update")
                fields = given
            case .delete:
                mixer.add("delete")
                fields = [:]
            }
            mixer.add(.dictionary(fields))
        }
        return String(mixer.value, radix: 16)
    }

    fileprivate func making(_ change: RecordChange) -> WriteTransaction.Step {
        WriteTransaction.Step(
            adapter: adapter, change: change, visible: visible, writableBefore: writableBefore,
            writableAfter: writableAfter, isForCaller: isForCaller, kept: kept)
    }
}
