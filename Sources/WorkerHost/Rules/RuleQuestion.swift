import AdapterKit
import AdapterProtocol
import Synchronization

/// A question to the record rules of a worker: `prepareRule` or `verifyRule`, with what the worker reads to answer it.
public struct RuleQuestion: Sendable {
    let method: String
    let parameters: WireDictionary
    let reads: RuleReads
    /// Changes that its answer may put first.
    let maximumFirst: Int
}

/// An adapter in another process, which answers questions about its record rules.
public protocol RuleAnswering: Adapter {
    /// Throws what the rules throw, and what a call of the process throws.
    func answer(_ question: RuleQuestion) async throws -> WireValue
}

/// The result of a read of a snapshot: the same for the same state of the records.
enum RuleReadResult: Sendable, Equatable {
    case value(WireValue)
    case refused(ErrorCode, String)
}

/// The reads of a worker in order to answer one question.
final class RuleReads: Sendable {
    struct Read: Sendable {
        let parameters: WireDictionary
        let result: RuleReadResult
        /// Read in the transaction that the question comes from, with the changes that it had made.
        let isOfTransaction: Bool
    }

    private struct State {
        var reads: [Read] = []
        var bytes = 0
    }

    /// The number under which the worker reads. ``SnapshotHandles`` begins with 1.
    static let snapshot = 0
    /// Bytes of parameters and results together, counted with ``WireValue/approximateSize``.
    static let maximumBytes = 4 << 20
    /// Reads of one question. Each is made again in the transaction.
    static let maximumReads = 1_000

    /// The results of the same reads in the transaction that the question comes from, by their encoded parameters.
    private let known: [[UInt8]: RuleReadResult]
    private let state = Mutex(State())

    init(known: [[UInt8]: RuleReadResult] = [:]) { self.known = known }

    var all: [Read] { state.withLock { $0.reads } }
    var bytes: Int { state.withLock { $0.bytes } }

    /// The question is asked from the beginning.
    func restart() { state.withLock { $0 = State() } }

    /// Reads as the transaction has read, and otherwise what the store has now. Whether that is what the transaction reads
    /// is found out when it runs again.
    func read(_ parameters: WireDictionary, from records: any RecordStore) async throws -> WireValue {
        let inTransaction = try known[Self.key(parameters)]
        let result: RuleReadResult
        if let inTransaction {
            result = inTransaction
        } else {
            result = try await records.withReadSnapshot { try $0.read(forRules: parameters) }
        }
        let size = WireValue.dictionary(parameters).approximateSize + result.size
        let isWithinLimit = state.withLock { state in
            guard state.bytes + size <= Self.maximumBytes, state.reads.count < Self.maximumReads else { return false }
            state.bytes += size
            state.reads.append(Read(parameters: parameters, result: result, isOfTransaction: inTransaction != nil))
            return true
        }
        guard isWithinLimit else { throw Self.tooMuch }
        switch result {
        case .value(let value): return value
        case .refused(let code, let message): throw PorticoError(code, message)
        }
    }

    static func key(_ parameters: WireDictionary) throws -> [UInt8] {
        var encoder = CBOREncoder()
        try encoder.append(parameters)
        return encoder.bytes
    }

    static var tooMuch: PorticoError {
        PorticoError(.requestLimitExceeded, "The adapter's rules read too much for one change.")
    }
}

extension RuleReadResult {
    fileprivate var size: Int {
        switch self {
        case .value(let value): value.approximateSize
        case .refused(_, let message): message.utf8.count
        }
    }
}

extension RecordSnapshot {
    /// A read that a worker's rules make. What the store throws on its own behalf goes back to it.
    func read(forRules parameters: WireDictionary) throws -> RuleReadResult {
        do {
            let map = try MessageMap(.dictionary(parameters))
            let read: String = try map("read")
            if read == "rows" { return .value(try allRows(try map("relation"))) }
            guard let value = try answer(read, map) else {
                throw MessageError("rules read a transaction, where there is no such read", at: "read")
            }
            return .value(value)
        } catch let error as PorticoError where !error.code.isOfStore {
            return .refused(error.code, error.message)
        } catch let error as MessageError {
            return .refused(.requestInvalid, "\(error)")
        }
    }

    /// At once, since what is read in a transaction is not held open.
    private func allRows(_ relation: Relation) throws -> WireValue {
        var (rows, bytes): ([WireValue], Int) = ([], 0)
        try self.rows(relation) { row in
            var values: [WireValue] = []
            for column in 0..<row.count { values.append(try row[column]) }
            bytes += WireValue.array(values).approximateSize
            guard bytes <= RuleReads.maximumBytes else { throw RuleReads.tooMuch }
            rows.append(.array(values))
        }
        return ["rows": .array(rows), "isLast": true]
    }
}

extension ErrorCode {
    /// Says something about the store at the moment, and nothing about the records.
    fileprivate var isOfStore: Bool {
        switch self {
        case .storeUnavailable, .storeFull, .overloaded, .stopping, .deadlineExceeded, .serverInternal: true
        default: false
        }
    }
}

extension WireValue {
    /// About the bytes that it takes in memory.
    var approximateSize: Int {
        switch self {
        case .string(let text): 16 + text.utf8.count
        case .data(let bytes): 16 + bytes.count
        case .array(let items): items.reduce(16) { $0 + $1.approximateSize }
        case .dictionary(let members): members.reduce(16) { $0 + 16 + $1.value.approximateSize }
        default: 16
        }
    }
}
