import AdapterKit

/// What is done to an answer.
enum FaultKind: Sendable, Equatable {
    /// The connection stays, and nothing comes.
    case hang
    /// The genuine answer, a byte at a time.
    case drip
    /// The connection is reset: before the answer, or in the middle of it where the request is carried out.
    case reset
    /// The genuine answer's first half, with its own length, and the connection ends.
    case truncate
    /// Bytes without a meaning, with status 200 and the genuine media type.
    case garbage
    /// A page for people, with status 200.
    case loginPage
    /// The genuine answer of a service without rows.
    case empty
    /// A gigabyte.
    case huge
    /// The genuine answer, late.
    case slow(Duration)
    /// A status of failure.
    case error(Int)

    /// Whether the genuine answer is needed, so that a write is carried out in any case.
    var needsAnswer: Bool {
        switch self {
        case .drip, .truncate, .slow: true
        default: false
        }
    }
}

/// A fault as it was ordered.
struct Fault: Sendable, Equatable {
    let kind: FaultKind
    /// The share of the requests that it is done to, from 0 to 1.
    var share = 1.0
    /// Requests whose path begins with this.
    var path = "/"
    /// Nil: until another order.
    var end: ContinuousClock.Instant?
    /// Whether a write is carried out and only its answer is lost.
    var carriesOut = false

    /// How many are in force at once.
    static let limit = 32
    /// The longest ``FaultKind/slow(_:)`` and the longest time in force.
    static let longestDelay = Duration.seconds(600)
    static let longestTime = Duration.seconds(86_400)

    /// Reads an order as ``portico-stand-in fault`` sends it. Throws `invalid` with what is wrong.
    init?(_ value: WireValue, at now: ContinuousClock.Instant) throws(ServiceError) {
        guard let name = value["kind"]?.stringValue else { throw .invalid("kind is missing.") }
        let milliseconds = value["delayMilliseconds"]?.int64Value
        let status = value["status"]?.int64Value
        switch name {
        case "none": return nil
        case "hang": kind = .hang
        case "drip": kind = .drip
        case "reset": kind = .reset
        case "truncate": kind = .truncate
        case "garbage": kind = .garbage
        case "login-page": kind = .loginPage
        case "empty": kind = .empty
        case "huge": kind = .huge
        case "slow":
            guard let milliseconds, (1...Self.longestDelay.components.seconds * 1_000).contains(milliseconds) else {
                throw .invalid("slow takes a delay from 1ms to 10m.")
            }
            kind = .slow(.milliseconds(milliseconds))
        case "error":
            guard let status, (400...599).contains(status) else {
                throw .invalid("error takes a status from 400 to 599.")
            }
            kind = .error(Int(status))
        default: throw .invalid("There is no fault \(name).")
        }
        if let given = value["share"], !given.isNull {
            guard let number = given.doubleValue, number > 0, number <= 1 else {
                throw .invalid("share is a number above 0, up to 1.")
            }
            share = number
        }
        if let given = value["path"], !given.isNull {
            guard let text = given.stringValue, text.hasPrefix("/") else { throw .invalid("path begins with /.") }
            path = text
        }
        if let given = value["forMilliseconds"], !given.isNull {
            guard let number = given.int64Value, (1...Self.longestTime.components.seconds * 1_000).contains(number)
            else { throw .invalid("A fault lasts from 1ms to 24h.") }
            end = now.advanced(by: .milliseconds(number))
        }
        carriesOut = value["carriesOut"]?.boolValue ?? false
    }

    init(_ kind: FaultKind) {
        self.kind = kind
    }
}

/// The faults in force, and which requests they are done to: by a seed and the order of the requests alone.
struct FaultPlan: Sendable {
    private(set) var faults: [Fault] = []
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Puts a fault in force, in the place of another one of the same path. Throws `invalid` for one too many.
    mutating func add(_ fault: Fault, at now: ContinuousClock.Instant) throws(ServiceError) {
        drop(at: now)
        faults.removeAll { $0.path == fault.path }
        guard faults.count < Fault.limit else { throw .invalid("At most \(Fault.limit) faults are in force at once.") }
        faults.append(fault)
    }

    /// Ends those of a path and below it; `/`: all.
    mutating func clear(_ path: String) { faults.removeAll { $0.path.hasPrefix(path) } }

    /// What is done to this request: the fault of the longest path that it begins with, if the request is one of its share.
    mutating func fault(for path: String, at now: ContinuousClock.Instant) -> Fault? {
        drop(at: now)
        let matching = faults.filter { path.hasPrefix($0.path) }
        guard let fault = matching.max(by: { $0.path.utf8.count < $1.path.utf8.count }) else { return nil }
        guard fault.share < 1 else { return fault }
        let drawn = Double(random.next() >> 11) / Double(UInt64(1) << 53)
        return drawn < fault.share ? fault : nil
    }

    private mutating func drop(at now: ContinuousClock.Instant) {
        faults.removeAll { $0.end.map { $0 <= now } ?? false }
    }
}
