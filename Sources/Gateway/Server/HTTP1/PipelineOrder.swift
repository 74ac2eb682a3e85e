import AdapterKit

/// When a refusal may be said on a connection whose earlier requests are not answered yet.
///
/// Responses keep the order of their requests, so a refusal waits for those before it. Once it is said, nothing that
/// comes from either side counts any more.
struct PipelineOrder {
    enum Action {
        case nothing
        case refuse(PorticoError)
        /// A response is half written: there is no honest way to say anything further.
        case close
    }

    private var unanswered = 0
    private var isReading = false
    private var isAnswering = false
    private var waiting: PorticoError?
    private var isLast = false
    private(set) var isShut = false
    /// The request that was to be the last has arrived: nothing behind it is meant for us.
    private(set) var isComplete = false

    /// Requests that were let in.
    private(set) var heads = 0

    /// Nothing is asked that was not answered.
    var isIdle: Bool { unanswered == 0 && waiting == nil }

    /// The response under way is to the only request that is.
    var isAnsweringLast: Bool { unanswered == 1 && !isReading }

    /// The only request is one that is being read, and nothing is said to it yet.
    var isReadingOnly: Bool { unanswered == 1 && isReading && !isAnswering && isReadingOn }

    /// Whether what arrives is still let in.
    var isReadingOn: Bool { waiting == nil && !isShut && !isComplete }

    mutating func headArrived(isLast: Bool) {
        unanswered += 1
        heads += 1
        isReading = true
        self.isLast = isLast
    }

    mutating func requestEnded() {
        isReading = false
        isComplete = isLast
    }

    mutating func responseBegan() { isAnswering = true }

    mutating func responseEnded() -> Action {
        isAnswering = false
        unanswered = max(0, unanswered - 1)
        return step()
    }

    /// What arrives cannot be understood or is not to be let in: the request that is being read, or the next one.
    mutating func refused(_ error: PorticoError) -> Action {
        guard isReadingOn else { return .nothing }
        waiting = error
        return step()
    }

    private mutating func step() -> Action {
        // A request that was let in and then broke off is itself among the unanswered; it may have been answered early.
        guard let error = waiting, !isShut, unanswered <= (isReading ? 1 : 0) else { return .nothing }
        isShut = true
        return isAnswering || (isReading && unanswered == 0) ? .close : .refuse(error)
    }
}
