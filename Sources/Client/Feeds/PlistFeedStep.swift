import ValueTree

/// What came of a download.
enum PlistFeedAnswer: Sendable, Equatable {
    /// Known beforehand, so nothing was sent.
    case unreachable
    case failed(PlistFeedFailure)
    case unchanged
    case document([UInt8], PlistFeedValidators)
}

/// One thing that a controller does after a download. The contract's order of events is the order of these.
enum PlistFeedStep: Sendable, Equatable {
    case willChange
    case replace(WireDictionary)
    case keep([UInt8], PlistFeedValidators)
    case didChange
    case refreshed
    case loadKeptCopy
    case tell(PlistFeedFailure)
    /// The last one: whoever waits for the download gets this.
    case fail(PlistFeedFailure)

    /// - Parameter data: what the app has now.
    static func steps(after answer: PlistFeedAnswer, data: WireDictionary?) -> [PlistFeedStep] {
        switch answer {
        case .unreachable:
            let failure = PlistFeedFailure(code: .connectionFailed, reason: "the server cannot be reached")
            return [.loadKeptCopy, .tell(failure), .fail(failure)]
        case .failed(let failure) where failure.code == .connectionFailed:
            return [.loadKeptCopy, .tell(failure), .fail(failure)]
        case .failed(let failure): return [.tell(failure), .loadKeptCopy, .fail(failure)]
        // Where the app has nothing yet, what did not change is the kept copy.
        case .unchanged: return [.loadKeptCopy, .refreshed]
        case .document(let bytes, let validators): return taking(bytes, validators, data)
        }
    }

    private static func taking(
        _ bytes: [UInt8], _ validators: PlistFeedValidators, _ data: WireDictionary?
    ) -> [PlistFeedStep] {
        do throws(PlistFeedFailure) {
            let fresh = try PlistFeedDocument.read(bytes)
            // The same data under other validators: the next request is to send these.
            if fresh == data { return [.keep(bytes, validators), .refreshed] }
            return [.willChange, .replace(fresh), .keep(bytes, validators), .didChange, .refreshed]
        } catch {
            return [.tell(error), .loadKeptCopy, .fail(error)]
        }
    }
}

extension PlistFeedFailure: Error {}
