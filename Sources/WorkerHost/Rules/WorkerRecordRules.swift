import AdapterKit
import AdapterProtocol
import RecordStorage
import Synchronization

/// The record rules of an adapter that runs as a worker.
struct WorkerRecordRules: RemoteRecordRules {
    /// All writes of the gateway wait while the changes are made that rules put first.
    private static let mostFirst = 1_000

    let adapter: AdapterName
    let maximumFirst: Int
    /// Fields that hold a position of the store, by entities.
    private let positionFields: [EntityName: Set<String>]
    private let asked: @Sendable () -> (any Adapter)?

    /// No adapter is asked before ``asking(_:)``.
    init(of declaration: AdapterDeclaration, maximumFirst: Int) {
        self.init(
            adapter: declaration.name, maximumFirst: maximumFirst,
            positionFields: declaration.entities.reduce(into: [:]) { fields, entity in
                fields[entity.name] = Set(
                    entity.fields.filter { $0.source == .createdPosition }.map(\.name.text))
            }, asked: { nil })
    }

    private init(
        adapter: AdapterName, maximumFirst: Int, positionFields: [EntityName: Set<String>],
        asked: @escaping @Sendable () -> (any Adapter)?
    ) {
        (self.adapter, self.maximumFirst) = (adapter, maximumFirst)
        (self.positionFields, self.asked) = (positionFields, asked)
    }

    /// Why they cannot be held to; nil: nothing is wrong.
    var problem: String? {
        guard (0...Self.mostFirst).contains(maximumFirst) else {
            return "its rules put \(maximumFirst) changes before one, of which 0 to \(Self.mostFirst) are taken"
        }
        return nil
    }

    func asking(_ adapter: @escaping @Sendable () -> any Adapter) -> any RemoteRecordRules {
        WorkerRecordRules(
            adapter: self.adapter, maximumFirst: maximumFirst, positionFields: positionFields, asked: adapter)
    }

    func answers() -> any RemoteRuleAnswers {
        WorkerRuleAnswers(maximumFirst: maximumFirst, positionFields: positionFields) { [asked] in
            asked() as? any RuleAnswering
        }
    }
}

/// The answers of a worker's rules for one write, each with all that the worker read to give it.
///
/// An answer counts where the question is the same and each of the reads gives the same in the transaction. The rules
/// say the same when asked again, so they would answer the same there.
final class WorkerRuleAnswers: RemoteRuleAnswers {
    private struct Key: Hashable {
        let question: [UInt8]
        /// The number of the same questions that were asked before in the transaction.
        let number: Int
    }

    private struct Question {
        let key: Key
        let core: WireDictionary
        let values: TransactionValues
        let asked: RuleQuestion

        /// Whether it is asked again, in a transaction that runs with these values.
        func isSame(_ core: WireDictionary, with values: TransactionValues, _ fields: Set<String>?) -> Bool {
            self.values.translated(question: self.core, of: fields, to: values) == .dictionary(core)
        }
    }

    private struct Answer {
        let question: Question
        let result: Result<WireValue, any Error>
        let reads: [RuleReads.Read]

        /// Whether a change that is made first is bound to a revision that may be one of the transaction's own.
        var namesOwnRevision: Bool {
            guard case .success(let value) = result, let prepared = try? PreparedChange(message: value) else {
                return false
            }
            return prepared.first.contains {
                if case .revision(let revision) = $0.condition { revision > question.values.position } else { false }
            }
        }
    }

    private struct State {
        var values = TransactionValues()
        var numbers: [[UInt8]: Int] = [:]
        var open: [Question] = []
        var answers: [Key: Answer] = [:]
        var bytes = 0

        /// Whether the transaction goes on with a change that its rules may make another one. A record that is not verified
        /// yet is no guess: it is refused or stays as it is.
        var isGuess: Bool { open.contains { $0.asked.method == RequestMethod.prepareRule } }
    }

    /// Questions that are asked at once.
    private static let maximumAtOnce = 8
    /// Bytes that the answers of one write may have read.
    private static let maximumBytes = 32 << 20

    private let maximumFirst: Int
    private let positionFields: [EntityName: Set<String>]
    private let adapter: @Sendable () -> (any RuleAnswering)?
    private let state = Mutex(State())

    init(
        maximumFirst: Int, positionFields: [EntityName: Set<String>],
        adapter: @escaping @Sendable () -> (any RuleAnswering)?
    ) {
        self.maximumFirst = maximumFirst
        self.positionFields = positionFields
        self.adapter = adapter
    }

    // MARK: In the transaction

    var isComplete: Bool { state.withLock { $0.open.isEmpty } }

    func begin(at position: Revision) {
        state.withLock { state in
            state.values = TransactionValues(position: position)
            (state.numbers, state.open) = ([:], [])
        }
    }

    func noteCreated(_ id: RecordID) { state.withLock { $0.values.created.append(id.text) } }

    func prepare(
        _ change: RecordChange, of record: Record?, in writing: RecordRuleContext
    ) throws -> PreparedChange? {
        var core: WireDictionary = ["change": change.message]
        core["record"] = record?.message
        let answer = try answer(RequestMethod.prepareRule, core, of: change.entity, in: writing)
        guard let prepared = try answer.map({ try PreparedChange(message: $0) }) else { return nil }
        guard prepared.isOf(change) else {
            throw PorticoError(
                .serverInternal, "Something went wrong on the server.",
                logDetail: "the adapter's rules make another change of \(change.entity)")
        }
        return prepared
    }

    func verify(_ record: Record, of entity: EntityName, in writing: RecordRuleContext) throws {
        let core: WireDictionary = ["record": record.message, "entity": entity.message]
        _ = try answer(RequestMethod.verifyRule, core, of: entity, in: writing)
    }

    private func answer(
        _ method: String, _ core: WireDictionary, of entity: EntityName, in writing: RecordRuleContext
    ) throws -> WireValue? {
        let values = state.withLock { state in
            state.values.now = writing.now
            return state.values
        }
        let neutral = try RuleReads.key(
            [
                "method": .string(method),
                "core": values.translated(question: core, of: positionFields[entity], to: .none),
            ]
        )
        let (key, known, isGuess) = state.withLock { state in
            let number = state.numbers[neutral, default: 0]
            state.numbers[neutral] = number + 1
            let key = Key(question: neutral, number: number)
            return (key, state.answers[key], state.isGuess)
        }
        var reads: [[UInt8]: RuleReadResult] = [:]
        if let known, known.question.isSame(core, with: values, positionFields[entity]) {
            let before = known.question.values
            var isCurrent = !known.namesOwnRevision || before.position == values.position
            for read in known.reads {
                let parameters = before.translated(read.parameters, to: values)
                let result = try writing.snapshot.read(forRules: parameters)
                let fields = parameters["entity"]?.stringValue.flatMap { EntityName($0) }.flatMap { positionFields[$0] }
                if result != before.translated(read, of: fields, to: values) { isCurrent = false }
                reads[try RuleReads.key(parameters)] = result
            }
            if isCurrent { return before.translated(try known.result.get(), to: values) }
            // What comes of a guess is not what the transaction will read.
            if isGuess { return nil }
        }
        let parameters: WireDictionary = [
            "snapshot": RuleReads.snapshot.message, "position": writing.snapshot.position.message,
            "caller": writing.caller.message, "now": writing.now.message,
        ]
        let question = Question(
            key: key, core: core, values: values,
            asked: RuleQuestion(
                method: method, parameters: parameters.merging(core), reads: RuleReads(known: reads),
                maximumFirst: maximumFirst))
        state.withLock { $0.open.append(question) }
        return nil
    }

    // MARK: Outside

    func ask() async throws {
        let questions = state.withLock { state in
            defer { state.open = [] }
            return state.open
        }
        guard let adapter = adapter() else {
            throw PorticoError(
                .adapterUnavailable, "The adapter is not available.", logDetail: "no process answers for it")
        }
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for (index, question) in questions.enumerated() {
                if index >= Self.maximumAtOnce, let answer = try await group.next() { try keep(answer) }
                group.addTask {
                    let result: Result<WireValue, any Error>
                    do {
                        result = .success(try await adapter.answer(question.asked))
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        result = .failure(error)
                    }
                    return Answer(question: question, result: result, reads: question.asked.reads.all)
                }
            }
            for try await answer in group { try keep(answer) }
        }
    }

    private func keep(_ answer: Answer) throws {
        let isWithinLimit = state.withLock { state in
            state.bytes += answer.question.asked.reads.bytes
            if let before = state.answers.updateValue(answer, forKey: answer.question.key) {
                state.bytes -= before.question.asked.reads.bytes
            }
            return state.bytes <= Self.maximumBytes
        }
        guard isWithinLimit else { throw RuleReads.tooMuch }
    }
}

extension PreparedChange {
    /// Whether it is of the same kind, of the same record and under the same condition; a new record may get an id.
    fileprivate func isOf(_ change: RecordChange) -> Bool {
        if self.change.setting(change.fields) == change { return true }
        guard case .create(nil, let fields) = change.action, case .create(_?, _) = self.change.action else {
            return false
        }
        return RecordChange(self.change.entity, .create(nil, fields), if: self.change.condition) == change
    }
}

/// The ids that a store has chosen in one transaction, in order. Each is found without a look at the others.
final class CreatedIDs: Sendable {
    private struct State {
        var ids: [String] = []
        var indices: [String: Int] = [:]
    }

    private let state = Mutex(State())

    func append(_ id: String) {
        state.withLock { state in
            state.indices[id] = state.ids.count
            state.ids.append(id)
        }
    }

    func index(of text: String) -> Int? {
        state.withLock { state in state.indices[text].flatMap { state.ids[$0].hasSameBytes(as: text) ? $0 : nil } }
    }

    subscript(index: Int) -> String? { state.withLock { $0.ids.indices.contains(index) ? $0.ids[index] : nil } }
}

/// The values that a store gives a transaction anew each time that it runs: the positions from which its changes count, its instant,
/// and the ids that it chose. Where two transactions differ in nothing else, they are the same to rules.
struct TransactionValues: Sendable {
    var position = Revision(0)
    var now = WireDate(secondsSinceReferenceDate: 0)
    /// The ids of the whole transaction, shared by all of its questions: a copy for each would be the square of their number.
    let created = CreatedIDs()

    /// Ids that are shorter than that may be met by chance, as those that count are.
    private static let shortestRandomID = 16

    static let none = TransactionValues()

    private func isSame(as other: TransactionValues) -> Bool {
        created === other.created && now == other.now && position == other.position
    }

    /// The same value in another transaction.
    func translated(_ value: WireValue, to other: TransactionValues) -> WireValue {
        guard !isSame(as: other) else { return value }
        switch value {
        case .date(let date) where date == now: return .date(other.now)
        case .string(let text) where text.utf8.count >= Self.shortestRandomID:
            guard let index = created.index(of: text) else { return value }
            return .string(other.created[index] ?? "\(index)")
        case .array(let items): return .array(items.map { translated($0, to: other) })
        case .dictionary(let members): return .dictionary(translated(members, to: other))
        default: return value
        }
    }

    func translated(_ members: WireDictionary, to other: TransactionValues) -> WireDictionary {
        // The keys are those that there were.
        WireDictionary(
            uncheckedUniqueKeys: members.entries.map { .init(key: $0.key, value: translated($0.value, to: other)) })
    }

    /// The question, with the revisions of the record in it.
    func translated(question: WireDictionary, of fields: Set<String>?, to other: TransactionValues) -> WireValue {
        var question = translated(question, to: other)
        if let record = question["record"] { question["record"] = translated(record: record, of: fields, to: other) }
        return .dictionary(question)
    }

    /// The result that the read would have had. Revisions that were read outside of the transaction stay.
    func translated(_ read: RuleReads.Read, of fields: Set<String>?, to other: TransactionValues) -> RuleReadResult {
        guard case .value(let value) = read.result else { return read.result }
        let translated = translated(value, to: other)
        guard read.isOfTransaction, case .dictionary(var members) = translated else { return .value(translated) }
        guard case .array(let records) = members["records"] else {
            return .value(self.translated(record: translated, of: fields, to: other))
        }
        members["records"] = .array(records.map { self.translated(record: $0, of: fields, to: other) })
        return .value(.dictionary(members))
    }

    private func translated(record: WireValue, of fields: Set<String>?, to other: TransactionValues) -> WireValue {
        guard position != other.position, case .dictionary(var record) = record else { return record }
        record["revision"] = record["revision"].map { translated(position: $0, to: other) }
        if let fields, !fields.isEmpty, case .dictionary(var values) = record["fields"] {
            for field in fields { values[field] = values[field].map { translated(position: $0, to: other) } }
            record["fields"] = .dictionary(values)
        }
        return .dictionary(record)
    }

    private func translated(position value: WireValue, to other: TransactionValues) -> WireValue {
        guard case .int64(let number) = value, number > position.number else { return value }
        // One of the transaction's own changes, counted from its beginning. Positions are not negative.
        let (moved, overflow) = (number - position.number).addingReportingOverflow(other.position.number)
        return overflow ? value : .int64(moved)
    }
}

extension WireDictionary {
    fileprivate func merging(_ others: WireDictionary) -> WireDictionary {
        others.entries.reduce(into: self) { $0[$1.key] = $1.value }
    }
}
