import Foundation
import ValueTree

/// What an app is told about its feed, in the order that ``PlistFeedController`` states.
@MainActor
public protocol PlistFeedDelegate: AnyObject {
    /// Asked before a download that the app did not ask for by ``PlistFeedController/refresh()``, so also when the
    /// network comes back. Yes, unless the app says otherwise.
    func shouldDownloadRemoteData(_ controller: PlistFeedController) -> Bool

    /// ``PlistFeedController/data`` is still the old one.
    func plistFeedWillChange(_ controller: PlistFeedController)

    /// ``PlistFeedController/data`` is the new one, and kept on the device.
    func plistFeedDidChange(_ controller: PlistFeedController)

    /// Of an error of code 2 this is told before the kept copy is loaded, of one of code 1 after it.
    func plistFeed(_ controller: PlistFeedController, didFail error: PlistFeedError)
}

extension PlistFeedDelegate {
    public func shouldDownloadRemoteData(_ controller: PlistFeedController) -> Bool { true }
    public func plistFeedWillChange(_ controller: PlistFeedController) {}
    public func plistFeedDidChange(_ controller: PlistFeedController) {}
    public func plistFeed(_ controller: PlistFeedController, didFail error: PlistFeedError) {}

    func hear(_ event: PlistFeedEvent, from controller: PlistFeedController) {
        switch event {
        case .willChange: plistFeedWillChange(controller)
        case .didChange: plistFeedDidChange(controller)
        case .failed(let error): plistFeed(controller, didFail: error)
        case .refreshed: break
        }
    }
}

public enum PlistFeedEvent: Sendable, Equatable {
    case willChange
    case didChange
    case failed(PlistFeedError)
    /// A valid download ended; the controller's ``PlistFeedController/lastUpdate``.
    case refreshed(Date)
}

/// What a refresh came to.
public struct PlistFeedOutcome: Sendable, Equatable {
    public let data: WireDictionary
    public let isChanged: Bool

    public static func == (left: PlistFeedOutcome, right: PlistFeedOutcome) -> Bool {
        left.isChanged == right.isChanged && left.data == right.data
    }
}
