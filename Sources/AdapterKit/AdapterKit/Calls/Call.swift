/// One call of an operation: already authenticated, authorised and checked against the declared input.
public struct Call: Sendable {
    public let operation: OperationName
    /// Holds the declared members only (unless the input is open), of the declared shapes, defaults filled in.
    public let input: WireDictionary
    public let caller: Principal
    public let requestID: String
    /// When the caller is told that it took too long. Work that goes on later is lost.
    public let deadline: ContinuousClock.Instant
    /// The adapter's records as far as the caller may see and change them.
    public let records: any RecordStore
    public let log: Log

    public init(
        operation: OperationName, input: WireDictionary, caller: Principal, requestID: String,
        deadline: ContinuousClock.Instant, records: any RecordStore, log: Log
    ) {
        self.operation = operation
        self.input = input
        self.caller = caller
        self.requestID = requestID
        self.deadline = deadline
        self.records = records
        self.log = log
    }

    /// A member of the input; null where it was left out.
    public subscript(member: FieldName) -> WireValue {
        input[member.text] ?? .null
    }
}
