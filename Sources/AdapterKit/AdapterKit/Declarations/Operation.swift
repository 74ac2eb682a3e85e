/// Something an adapter can be asked to do.
///
/// It is reached by its bindings; one without any has the path `/api/v1/{adapter}/operations/{name}`.
public struct Operation: Sendable, Equatable {
    /// The operation's name within its adapter.
    public let name: OperationName
    /// One sentence that says what the operation does.
    public let summary: String
    /// Whether the operation changes anything.
    public let effect: Effect
    /// Whether doing it twice is the same as once, so that a call may be repeated after a failure.
    public let isIdempotent: Bool
    /// The members of the input.
    public let input: ObjectShape
    /// The shape of the value that the operation returns.
    public let output: Shape
    /// The media type of a document that is answered instead of a value of `output`; nil: a value.
    public let documentType: String?
    /// The side that decides whether a caller may call.
    public let authorization: OperationAuthorization
    /// The callers that may call, of those that the adapter's access lets read. Nil: for an operation that reads, all of those; for one that
    /// writes, whom the adapter's access lets write, and where that does not say, whom all of ``entities`` let write.
    public let access: Access?
    /// The longest time of a call; nil: the gateway's request deadline.
    public let deadline: Duration?
    /// The time for which a result may be cached.
    public let caching: CacheLifetime
    /// The entities whose records its answers are made of, as far as those are mirrors: what an answer says of its age. And those
    /// that it writes. Nil: all of the adapter's.
    public let entities: [EntityName]?
    /// The parameter of its paths that names the one entity of ``entities`` that an answer is made of, as far as that is a
    /// mirror; a value that names none: the answer is made of no mirror. Nil: an answer is made of all of them.
    public let mirrorParameter: FieldName?
    /// Where it is answered from; nil: here.
    public let callThrough: CallThrough?
    /// Whom the operation is for.
    public let audience: Audience
    /// The HTTP methods and paths that reach the operation.
    public let bindings: [HTTPBinding]

    /// Creates an operation with these values.
    public init(
        _ name: OperationName, summary: String, effect: Effect, isIdempotent: Bool? = nil,
        input: ObjectShape? = nil, output: Shape, documentType: String? = nil,
        authorization: OperationAuthorization = .byAccess,
        access: Access? = nil, deadline: Duration? = nil,
        caching: CacheLifetime = .noStore, entities: [EntityName]? = nil, mirrorParameter: FieldName? = nil,
        callThrough: CallThrough? = nil,
        audience: Audience = .callers, bindings: [HTTPBinding] = []
    ) {
        self.name = name
        self.summary = summary
        self.effect = effect
        self.isIdempotent = isIdempotent ?? (effect == .reads)
        self.input = input ?? ObjectShape("\(name.text)Input", members: [])
        self.output = output
        self.documentType = documentType
        self.authorization = authorization
        self.access = access
        self.deadline = deadline
        self.caching = caching
        self.entities = entities
        self.mirrorParameter = mirrorParameter
        self.callThrough = callThrough
        self.audience = audience
        self.bindings = bindings
    }
}

/// The side that decides whether a caller may make a call.
public enum OperationAuthorization: Sendable, Equatable {
    /// The adapter's access, and the operation's or mount's own where it has one, before the operation is asked.
    case byAccess
    /// The operation or mount, by what it is asked for: every caller gets as far as the adapter, which throws `auth.required` or
    /// `access.denied` (``Access/authorize(_:)``). Its decision depends on whether the caller is anonymous and on the
    /// roles alone, so that an answer may be kept for callers of the same roles.
    case byOperation
}

/// The time for which an answer stays true.
public enum CacheLifetime: Sendable, Equatable {
    /// Not at all: every call is made.
    case noStore
    /// Until any record of this adapter changes, for every caller that may call at all: the answer depends on the input
    /// and the adapter's records alone.
    case untilRecordsChange
}

/// The callers that an operation is for.
public enum Audience: Sendable, Equatable {
    /// Every caller that the access lets in, over the gateway.
    case callers
    /// Operators, over the admin socket only.
    case operators
}
