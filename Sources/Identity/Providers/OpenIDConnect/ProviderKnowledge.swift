import AdapterKit

/// What is known of a provider and when that is fetched anew. A state machine; ``ProviderDocuments`` fetches.
///
/// A key that is not known may have been published a moment ago, so it is a reason to fetch; but anybody can write an
/// unknown key into a token, so it is one only now and then.
struct ProviderKnowledge: Sendable {
    struct Documents: Sendable {
        let configuration: ProviderConfiguration
        let keys: [ProviderKey]
    }

    enum Answer: Sendable {
        case known(Documents)
        /// Due to be fetched; whoever cannot wait may use them meanwhile.
        case refresh(Documents)
        case fetch
        /// Nothing is known, and it was tried a moment ago.
        case unavailable(PorticoError)
    }

    /// What was fetched is used for so much longer than it is believed while the provider cannot be reached.
    static let idleTimeout = 24.0
    /// Seconds between two tries of a provider of which nothing is known.
    static let pause = 5.0

    let refresh: Double
    let refetch: Double
    private var documents: Documents?
    private var fetched = WireDate(secondsSince1970: 0)
    private var tried = WireDate(secondsSince1970: 0)
    private var failure: PorticoError?

    init(_ settings: OpenIDConnectSettings) {
        refresh = settings.refresh.inSeconds
        refetch = settings.refetch.inSeconds
    }

    /// `isEnough`: whether what is known answers the question that is asked.
    func answer(now: WireDate, _ isEnough: (Documents) -> Bool) -> Answer {
        guard let documents else {
            guard let failure, now - tried < Self.pause else { return .fetch }
            return .unavailable(failure)
        }
        let mayTry = now - tried >= refetch
        let isFresh = now - fetched < refresh
        if isFresh, isEnough(documents) || !mayTry { return .known(documents) }
        guard mayTry else { return .known(documents) }
        let isUsable = now - fetched <= refresh * Self.idleTimeout && isEnough(documents)
        return isUsable ? .refresh(documents) : .fetch
    }

    mutating func note(_ documents: Documents, now: WireDate) {
        self.documents = documents
        fetched = now
        tried = now
        failure = nil
    }

    /// What is known still, if it is not too old; otherwise nil, and the failure counts.
    mutating func note(_ failure: PorticoError, now: WireDate) -> Documents? {
        tried = now
        self.failure = failure
        if now - fetched > refresh * Self.idleTimeout { documents = nil }
        return documents
    }
}
