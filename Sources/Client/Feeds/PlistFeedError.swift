import Foundation

/// Why a feed could not be refreshed, with the codes of the original.
public struct PlistFeedError: Error, Sendable, Equatable, CustomNSError {
    public enum Code: Int, Sendable {
        /// The address is none that can be asked.
        case cannotInitiate = 0
        /// No connection, no answer in time, or an answer whose status is no success.
        case connectionFailed = 1
        /// What came is not UTF-8, has no DOCTYPE of property lists, or is no dictionary.
        case fileFormat = 2
    }

    public let code: Code
    public let url: String
    /// For a log.
    public let reason: String
    /// The HTTP status, where there was an answer.
    public let status: Int?

    public static let errorDomain = "PlistFeedError"
    public var errorCode: Int { code.rawValue }

    /// `url` is the feed's; `NSLocalizedFailureReason` and `status` where they are known.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = ["url": URL(string: url) as Any? ?? url, NSLocalizedFailureReasonErrorKey: reason]
        if let status { info["status"] = status }
        return info
    }
}

/// A failure, before anybody knows of which feed.
struct PlistFeedFailure: Sendable, Equatable {
    let code: PlistFeedError.Code
    let reason: String
    var status: Int?

    func error(_ url: String) -> PlistFeedError {
        PlistFeedError(code: code, url: url, reason: reason, status: status)
    }
}
