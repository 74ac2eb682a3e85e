import AdapterKit

/// The writes that were applied, for tests to compare with what was sent, and the answers by idempotency key.
struct AppliedWrites: Sendable {
    struct Entry: Sendable {
        let sequence: Int
        let method: String
        let path: String
        let key: String?
        let status: Int

        var value: WireValue {
            [
                "sequence": .int64(Int64(sequence)), "method": .string(method), "path": .string(path),
                "idempotencyKey": key.map { .string($0) } ?? .null, "status": .int64(Int64(status)),
            ]
        }
    }

    private struct Answered: Sendable {
        let method: String
        let path: String
        let body: [UInt8]
        let response: ServiceResponse
    }

    /// How many writes and how many keys are remembered; the oldest go first.
    static let limit = 100_000

    /// Whether a key that comes again gets the first answer again.
    let honoursKeys: Bool
    private(set) var total = 0
    /// How many writes were answered from memory.
    private(set) var repeats = 0
    /// Ring of the newest entries.
    private var entries: [Entry] = []
    private var answers: [String: Answered] = [:]
    private var keys: [String] = []
    private var nextKey = 0

    init(honoursKeys: Bool) {
        self.honoursKeys = honoursKeys
    }

    /// The first answer to a write with this key; nil: it is to be carried out. Throws for a key of another request.
    mutating func answer(to request: ServiceRequest) throws(ServiceError) -> ServiceResponse? {
        guard honoursKeys, let key = request["Idempotency-Key"], let answered = answers[key] else { return nil }
        guard answered.method == request.method, answered.path == request.path, answered.body == request.body else {
            throw .refused("The idempotency key was used for another request.")
        }
        repeats += 1
        return answered.response
    }

    mutating func note(_ request: ServiceRequest, _ response: ServiceResponse) {
        total += 1
        let key = request["Idempotency-Key"]
        let entry = Entry(
            sequence: total, method: request.method, path: request.path, key: key, status: response.status)
        if entries.count < Self.limit { entries.append(entry) } else { entries[(total - 1) % Self.limit] = entry }
        guard honoursKeys, let key else { return }
        if keys.count < Self.limit {
            keys.append(key)
        } else {
            answers[keys[nextKey]] = nil
            keys[nextKey] = key
            nextKey = (nextKey + 1) % Self.limit
        }
        answers[key] = Answered(
            method: request.method, path: request.path, body: request.body, response: response)
    }

    /// At most so many entries after a sequence number, the oldest first.
    func page(after sequence: Int, limit: Int) -> WireValue {
        let first = max(sequence, total - entries.count, 0)
        let page = (first..<max(first, min(total, first + limit))).map { entries[$0 % Self.limit].value }
        return ["writes": .array(page), "total": .int64(Int64(total)), "repeats": .int64(Int64(repeats))]
    }
}
