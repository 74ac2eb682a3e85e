import AdapterKit

/// What one connection may use.
public struct ConnectionLimits: Sendable {
    /// Bytes of one frame at most, in both directions.
    public var frame = 32 << 20
    /// Levels and items of one frame that is read.
    public var values = CBORLimits()
    /// Requests under way at most, in each direction.
    public var requests = 4_096
    /// About the bytes in memory that the parameters of the other side's requests under way may have, each until its response.
    /// With so many, further requests are refused with `server.overloaded`; the last one before may exceed it.
    public var requestMemory = Int.max
    /// Streams open at most, in each direction.
    public var streams = 1_024
    /// Bytes that wait to be sent at most. A peer that does not read for so long is given up.
    public var queue = 64 << 20
    /// With so many bytes waiting, events are dropped.
    public var eventQueue = 1 << 20

    /// The standard limits.
    public init() {}

    /// How many bytes of a stream may be sent before any credit is given, and how many its receiver holds at most.
    public static let streamWindow = 128 << 10
    /// Bytes of one piece of a stream at most.
    public static let streamPiece = 32 << 10
}

/// Why a connection has ended.
public enum ConnectionEnd: Sendable, Equatable {
    /// This side closed it.
    case closed
    /// The other side closed its socket, or its process has ended.
    case disconnected
    /// The other side sent what the protocol does not allow.
    case violation(String)
}

/// What has to be known of both sides' requests and streams to say what a message means.
///
/// It decides; ``MessageConnection`` executes. The numbers of each side's requests and streams only grow, so that one which
/// has ended is distinguished from one that never was.
struct ConnectionState {
    /// What is to be done about a message.
    enum Action {
        case nothing
        case resume(Int, Result<WireValue, CrossingError>)
        /// A response that is not waited for any more, and has these members.
        case ignore(WireDictionary?)
        case serve(Message.Request)
        /// A request for which there is no memory.
        case refuse(Message.Request)
        case cancel(Int)
        case report(String, scope: Int?, WireDictionary)
        case deliver(stream: Int, [UInt8], isNew: Bool)
        case finish(stream: Int, CrossingError?, isNew: Bool)
        case send(stream: Int)
        case stop(stream: Int)
        case end(String)
    }

    private let limits: ConnectionLimits
    private var lastRequest = 0
    /// Requests of this side; false: its response is not waited for any more.
    private var waiting: [Int: Bool] = [:]
    private var lastServed = 0
    /// The other side's requests under way, with what their parameters take in memory.
    private var serving: [Int: Int] = [:]
    private var servingMemory = 0
    private var lastStream = 0
    /// This side's streams, with the bytes that may still be sent.
    private var credits: [Int: Int] = [:]
    /// The other side's streams up to this one have begun, or are not waited for; and those of later ones that have begun.
    /// Streams that are made at the same time begin in any order.
    private var begunBefore = 0
    private var begun: Set<Int> = []
    /// The other side's streams, with the bytes that it may still send, and those that were read and not granted anew yet.
    private var granted: [Int: (credit: Int, taken: Int)] = [:]

    init(_ limits: ConnectionLimits) { self.limits = limits }

    /// The number of a new request; nil where there are too many.
    mutating func beginRequest() -> Int? {
        guard waiting.count < limits.requests else { return nil }
        lastRequest += 1
        waiting[lastRequest] = true
        return lastRequest
    }

    /// The response is not waited for any more. Returns whether the other side should learn it.
    mutating func abandon(_ number: Int) -> Bool {
        guard waiting[number] == true else { return false }
        waiting[number] = false
        return true
    }

    /// A request of the other side was answered.
    mutating func noteServed(_ number: Int) { servingMemory -= serving.removeValue(forKey: number) ?? 0 }

    /// The number of a new stream of this side; nil where there are too many.
    mutating func beginStream() -> Int? {
        guard credits.count < limits.streams else { return nil }
        lastStream += 1
        credits[lastStream] = ConnectionLimits.streamWindow
        return lastStream
    }

    /// How many of `wanted` bytes may be sent now.
    mutating func takeCredit(of stream: Int, _ wanted: Int) -> Int {
        guard let credit = credits[stream] else { return 0 }
        let taken = min(credit, wanted)
        credits[stream] = credit - taken
        return taken
    }

    func hasCredit(of stream: Int) -> Bool { (credits[stream] ?? 0) > 0 }

    mutating func endStream(_ stream: Int) { credits[stream] = nil }

    /// The other side's stream, named in one of its messages. False where there are too many.
    mutating func expect(stream: Int) -> Bool {
        guard !isKnown(stream: stream) else { return true }
        guard granted.count < limits.streams else { return false }
        granted[stream] = (ConnectionLimits.streamWindow, 0)
        begun.insert(stream)
        if stream - limits.streams > begunBefore {
            begunBefore = stream - limits.streams
            begun = begun.filter { $0 > begunBefore }
        }
        // Wraps around at the end of all numbers.
        while begun.remove(begunBefore &+ 1) != nil { begunBefore += 1 }
        return true
    }

    /// Whether the other side's stream was named or has sent something.
    func isKnown(stream: Int) -> Bool { stream <= begunBefore || begun.contains(stream) }

    /// So many bytes of the stream were read. Returns for how many the other side is to get credit now; nil: it has enough, or
    /// the stream has ended.
    mutating func grant(_ bytes: Int, to stream: Int) -> Int? {
        guard let (credit, taken) = granted[stream] else { return nil }
        guard taken + bytes >= ConnectionLimits.streamWindow / 2 else {
            granted[stream] = (credit, taken + bytes)
            return nil
        }
        granted[stream] = (credit + taken + bytes, 0)
        return taken + bytes
    }

    /// `memory`: about the bytes that the message takes.
    mutating func receive(_ message: Message, memory: Int = 0) -> Action {
        switch message {
        case .request(let request): return serve(request, memory)
        case .response(let number, let result):
            guard let isWaiting = waiting.removeValue(forKey: number) else {
                return .end("a response to no request (\(number))")
            }
            return isWaiting ? .resume(number, result) : .ignore((try? result.get())?.dictionaryValue)
        case .cancel(let number): return serving[number] == nil ? .nothing : .cancel(number)
        case .event(let name, let scope, let parameters): return .report(name, scope: scope, parameters)
        case .data(let stream, let bytes): return deliver(stream, bytes)
        case .end(let stream, let error):
            let isNew = !isKnown(stream: stream)
            guard expect(stream: stream) else { return .end("too many streams") }
            return granted.removeValue(forKey: stream) == nil
                ? .end("the end of a stream that is not open (\(stream))")
                : .finish(stream: stream, error, isNew: isNew)
        case .credit(let stream, let bytes): return credit(stream, bytes)
        case .stop(let stream):
            guard stream <= lastStream else { return .end("a stream that never was is stopped (\(stream))") }
            return credits[stream] == nil ? .nothing : .stop(stream: stream)
        }
    }

    private mutating func serve(_ request: Message.Request, _ memory: Int) -> Action {
        guard request.number > lastServed else { return .end("the number of a request is used twice") }
        guard serving.count < limits.requests else { return .end("more than \(limits.requests) requests at once") }
        lastServed = request.number
        // Not what is under way and this one together: a large one is taken where there is little else. `ping` is answered at once.
        guard servingMemory < limits.requestMemory || request.method == RequestMethod.ping else {
            return .refuse(request)
        }
        serving[request.number] = memory
        servingMemory += memory
        return .serve(request)
    }

    private mutating func deliver(_ stream: Int, _ bytes: [UInt8]) -> Action {
        let isNew = !isKnown(stream: stream)
        guard expect(stream: stream) else { return .end("too many streams") }
        guard let (credit, taken) = granted[stream] else {
            return .end("a piece of a stream that is not open (\(stream))")
        }
        guard bytes.count <= credit else { return .end("more of a stream than was granted (\(stream))") }
        granted[stream] = (credit - bytes.count, taken)
        return .deliver(stream: stream, bytes, isNew: isNew)
    }

    private mutating func credit(_ stream: Int, _ bytes: Int) -> Action {
        guard stream <= lastStream else { return .end("credit for a stream that never was (\(stream))") }
        guard let credit = credits[stream] else { return .nothing }
        guard bytes <= ConnectionLimits.streamWindow - credit else { return .end("credit beyond a stream's window") }
        credits[stream] = credit + bytes
        return .send(stream: stream)
    }
}
