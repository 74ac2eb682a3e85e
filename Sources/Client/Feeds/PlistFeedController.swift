import Foundation
import ValueTree

/// Keeps an app's copy of one property-list feed: the document as it was last downloaded, at once and without a network,
/// and the newest one when there is one.
///
/// The successor of TouchEngine's controller, by the same rules: one download at a time, of 60 seconds at most; what is
/// downloaded is taken if it is UTF-8, has the DOCTYPE of property lists and a dictionary as its root; the delegate hears
/// of a change only where something changed. What is new: a refresh sends the last validators, so that an unchanged feed
/// costs no transfer; an answer counts only with a status that says so; the network's return is really noticed.
///
/// Order of events (``PlistFeedEvent``, and the delegate's calls):
///
/// | what happened | then |
/// |---|---|
/// | the server is known to be out of reach | the kept copy is loaded, error 1; the delegate is not asked first |
/// | the connection failed, or the status is no success | the kept copy is loaded, error 1 |
/// | what came is no feed | error 2, the kept copy is loaded |
/// | new data | `willChange`, replaced, kept, `didChange`, ``lastUpdate`` |
/// | the same data, or 304 | ``lastUpdate`` |
///
/// To load the kept copy does nothing where there is data already; otherwise it is a change like any other.
@MainActor
public final class PlistFeedController {
    /// The longest time of one download, from the first byte sent to the last received.
    public nonisolated static let deadline = Duration.seconds(60)

    /// The feed's address.
    public let url: String
    /// The document; nil until something was downloaded or ``open()`` found a kept copy.
    public private(set) var data: WireDictionary?
    /// When a valid download ended last, whether it brought something new or not.
    public private(set) var lastUpdate = Date.distantPast
    /// Where the kept copy could not be read or written; for a log.
    public private(set) var cacheFailure: String?
    /// Gets what happens to the feed.
    public weak var delegate: (any PlistFeedDelegate)?

    private let source: any PlistFeedSource
    private let cache: PlistFeedCache
    private let now: @Sendable () -> Date
    /// The feed's entry in the index.
    private var entry = PlistFeedCache.Entry()
    /// The copy in the folder, where it is not ``data`` already.
    private var keptCopy: WireDictionary?
    private var hasLooked = false
    private var isReachable: Bool?
    private var download: Task<PlistFeedOutcome, any Error>?
    private var watch: Task<Void, Never>?
    private var listeners: [Int: AsyncStream<PlistFeedEvent>.Continuation] = [:]
    private var nextListener = 0

    /// - Parameters:
    ///   - source: what is downloaded, ``FeedAtAddress`` or ``FeedOfSession``.
    ///   - cache: shared by the controllers of one folder.
    ///   - reachability: whether the server may be reached, as it changes; its first value is the state now. Without it
    ///     every download is tried.
    public init(
        _ source: any PlistFeedSource, cache: PlistFeedCache, delegate: (any PlistFeedDelegate)? = nil,
        reachability: AsyncStream<Bool>? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.source = source
        self.cache = cache
        self.delegate = delegate
        self.now = now
        url = source.url
        guard let reachability else { return }
        watch = Task { [weak self] in
            for await isReachable in reachability { await self?.networkChanged(isReachable: isReachable) }
        }
    }

    deinit {
        watch?.cancel()
        download?.cancel()
        for listener in listeners.values { listener.finish() }
    }

    /// Loads the kept copy, so that ``data`` is there before the first download. Needs no network.
    public func open() async {
        await loadKeptCopy()
    }

    /// Events from now on. Ends with the controller. Events that are not taken wait, ``largestBacklog`` at most;
    /// then the oldest are dropped.
    public func events() -> AsyncStream<PlistFeedEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: PlistFeedEvent.self, bufferingPolicy: .bufferingNewest(Self.largestBacklog))
        let number = nextListener
        nextListener += 1
        listeners[number] = continuation
        continuation.onTermination = { [weak self] _ in
            Task { @MainActor in self?.listeners[number] = nil }
        }
        return stream
    }

    /// Events that a slow reader may leave unread; older ones are dropped.
    public nonisolated static let largestBacklog = 64
}

extension PlistFeedController {
    /// The delegate's form: asks ``PlistFeedDelegate/shouldDownloadRemoteData(_:)``, downloads, and notifies the delegate
    /// what came of it. Does nothing while a download is under way.
    public func update() async {
        guard download == nil else { return }
        let mayAsk = isReachable != false
        if mayAsk, delegate?.shouldDownloadRemoteData(self) == false { return }
        _ = try? await refresh()
    }

    /// The asynchronous form: downloads without asking the delegate, which hears of it all the same. Waits for the
    /// download that is under way where there is one.
    ///
    /// - Returns: the document, and whether it is another than before.
    /// - Throws: ``PlistFeedError``; `CancellationError` after ``cancel()``, for which there is no event.
    @discardableResult
    public func refresh() async throws -> PlistFeedOutcome {
        if let download { return try await download.value }
        let begun = Task { try await self.run() }
        download = begun
        defer { if download == begun { download = nil } }
        return try await begun.value
    }

    /// Ends the download that is under way. No one hears of it but those who wait for it.
    public func cancel() {
        download?.cancel()
        download = nil
    }

    /// The network came or went. On its return the delegate is asked whether to download.
    public func networkChanged(isReachable: Bool) async {
        let isBack = isReachable && self.isReachable == false
        self.isReachable = isReachable
        if isBack { await update() }
    }

    private func run() async throws -> PlistFeedOutcome {
        await lookForKeptCopy()
        guard isReachable != false else { return try await finish(.unreachable) }
        let hasCopy = data != nil || keptCopy != nil
        let answer = await source.download(validators: hasCopy ? entry.validators : PlistFeedValidators())
        try Task.checkCancellation()
        return try await finish(answer)
    }

    private func finish(_ answer: PlistFeedResponse) async throws -> PlistFeedOutcome {
        let before = data
        for step in PlistFeedStep.steps(after: answer, data: data) { try await take(step) }
        return PlistFeedOutcome(data: data ?? [:], isChanged: before != data)
    }

    private func take(_ step: PlistFeedStep) async throws {
        switch step {
        case .willChange: tell(.willChange)
        case .replace(let fresh): data = fresh
        case .keep(let bytes, let validators): await keep(bytes, validators)
        case .didChange: tell(.didChange)
        case .refreshed: await markRefreshed()
        case .loadKeptCopy: await loadKeptCopy()
        case .tell(let failure): tell(.failed(failure.error(url)))
        case .fail(let failure): throw failure.error(url)
        }
    }
}

extension PlistFeedController {
    /// Its validators are asked with, before the app sees it.
    private func lookForKeptCopy() async {
        guard !hasLooked else { return }
        hasLooked = true
        do {
            guard let found = try await cache.load(url) else { return }
            entry = found.entry
            keptCopy = found.data
        } catch {
            cacheFailure = "\(error)"
        }
    }

    private func loadKeptCopy() async {
        await lookForKeptCopy()
        guard data == nil, let keptCopy else { return }
        self.keptCopy = nil
        lastUpdate = entry.lastUpdate
        tell(.willChange)
        data = keptCopy
        tell(.didChange)
    }

    private func keep(_ bytes: [UInt8], _ validators: PlistFeedValidators) async {
        keptCopy = nil
        entry.validators = validators
        do {
            entry = try await cache.keep(bytes, entry, of: url)
        } catch {
            cacheFailure = "\(error)"
        }
    }

    private func markRefreshed() async {
        lastUpdate = now()
        entry.lastUpdate = lastUpdate
        do { try await cache.note(entry, of: url) } catch { cacheFailure = "\(error)" }
        tell(.refreshed(lastUpdate))
    }

    private func tell(_ event: PlistFeedEvent) {
        delegate?.hear(event, from: self)
        for listener in listeners.values { listener.yield(event) }
    }
}

/// The app's side of its feed, called in the order that ``PlistFeedController`` states.
@MainActor
public protocol PlistFeedDelegate: AnyObject {
    /// Asked before a download that the app did not ask for by ``PlistFeedController/refresh()``, so also when the
    /// network comes back. Yes, unless the app says otherwise.
    func shouldDownloadRemoteData(_ controller: PlistFeedController) -> Bool

    /// ``PlistFeedController/data`` is still the old one.
    func plistFeedWillChange(_ controller: PlistFeedController)

    /// ``PlistFeedController/data`` is the new one, and kept on the device.
    func plistFeedDidChange(_ controller: PlistFeedController)

    /// For an error of code 2 this is called before the kept copy is loaded, of one of code 1 after it.
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

/// An event of a feed.
public enum PlistFeedEvent: Sendable, Equatable {
    /// Other data is about to take the place of the present data.
    case willChange
    /// There is other data.
    case didChange
    /// A download failed; the data is as it was.
    case failed(PlistFeedError)
    /// A valid download ended; the controller's ``PlistFeedController/lastUpdate``.
    case refreshed(Date)
}

/// The result of a refresh.
public struct PlistFeedOutcome: Sendable, Equatable {
    /// The feed's data.
    public let data: WireDictionary
    /// Whether the download changed it.
    public let isChanged: Bool

    public static func == (left: PlistFeedOutcome, right: PlistFeedOutcome) -> Bool {
        left.isChanged == right.isChanged && left.data == right.data
    }
}
