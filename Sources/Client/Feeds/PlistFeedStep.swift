import Foundation
import ValueTree

/// The result of a download.
enum PlistFeedResponse: Sendable, Equatable {
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
    /// The last one: anyone who waits for the download gets this.
    case fail(PlistFeedFailure)

    /// - Parameter data: what the app has now.
    static func steps(after answer: PlistFeedResponse, data: WireDictionary?) -> [PlistFeedStep] {
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

/// Why a feed could not be refreshed, with the codes of the original.
public struct PlistFeedError: Error, Sendable, Equatable, CustomNSError {
    /// A kind of failure.
    public enum Code: Int, Sendable {
        /// The address is none that can be asked.
        case cannotInitiate = 0
        /// No connection, no answer in time, or an answer whose status is no success.
        case connectionFailed = 1
        /// The document is not UTF-8, has no DOCTYPE of property lists, or is no dictionary.
        case fileFormat = 2
    }

    /// The kind of the failure.
    public let code: Code
    /// The feed's address.
    public let url: String
    /// For a log.
    public let reason: String
    /// The HTTP status, where there was an answer.
    public let status: Int?

    /// The domain of the error as an `NSError`.
    public static let errorDomain = "PlistFeedError"
    /// The code of the error as an `NSError`.
    public var errorCode: Int { code.rawValue }

    /// `url` is the feed's; `NSLocalizedFailureReason` and `status` where they are known.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = ["url": URL(string: url) as Any? ?? url, NSLocalizedFailureReasonErrorKey: reason]
        if let status { info["status"] = status }
        return info
    }
}

/// A failure that does not name its feed yet.
struct PlistFeedFailure: Sendable, Equatable {
    let code: PlistFeedError.Code
    let reason: String
    var status: Int?

    func error(_ url: String) -> PlistFeedError {
        PlistFeedError(code: code, url: url, reason: reason, status: status)
    }
}
