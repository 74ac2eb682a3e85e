import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The transport of apps: Foundation's URL loading, with nothing of its own stored.
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let exchanges: URLExchanges
    // Of their own, so that streams take no connection away from other calls.
    private let streamSession: URLSession
    private let streams: URLStreams
    private let clock: any Clock<Duration>

    /// - Parameter configuration: for proxies, background behaviour and the like. Caches, cookies and credential storage
    ///   are switched off in a copy of it.
    public init(configuration: URLSessionConfiguration = .ephemeral, clock: any Clock<Duration> = ContinuousClock()) {
        let configuration = Self.withoutStores(configuration)
        exchanges = URLExchanges()
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
        streams = URLStreams()
        streamSession = URLSession(configuration: configuration, delegate: streams, delegateQueue: nil)
        self.clock = clock
    }

    deinit {
        session.invalidateAndCancel()
        streamSession.invalidateAndCancel()
    }

    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        let task = session.dataTask(with: try URLRequest(request))
        return try await withDeadline(request.deadline, clock: clock) { [exchanges] in
            try await exchanges.run(task, largestAnswer: request.largestAnswer)
        }
    }

    public func open(_ request: TransportRequest) async throws -> TransportStream {
        var asked = try URLRequest(request)
        // URL loading's limit is one of silence here: it begins anew with each piece.
        asked.timeoutInterval = request.deadline.inSeconds
        let task = streamSession.dataTask(with: asked)
        return try await withDeadline(request.deadline, clock: clock) { [streams] in try await streams.open(task) }
    }

    private static func withoutStores(_ original: URLSessionConfiguration) -> URLSessionConfiguration {
        let configuration = (original.copy() as? URLSessionConfiguration) ?? .ephemeral
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        return configuration
    }
}

extension URLRequest {
    fileprivate init(_ request: TransportRequest) throws(TransportError) {
        guard let url = URL(string: request.url), url.host != nil, ["http", "https"].contains(url.scheme) else {
            throw .invalidAddress(request.url)
        }
        self.init(url: url)
        httpMethod = request.method
        for header in request.headers { addValue(header.value, forHTTPHeaderField: header.name) }
        httpBody = request.body.map { Data($0) }
        // URL loading's own limit is one of silence on some platforms and of the whole on others: ours decides.
        timeoutInterval = request.deadline.inSeconds + 5
    }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
