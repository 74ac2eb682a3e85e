import AdapterKit

/// A portal as adapters see it.
struct PortalUpstream: CallerUpstream {
    let calls: PortalCalls

    var name: UpstreamName { UpstreamName(unchecked: calls.provider.name.text) }

    func send(_ request: UpstreamRequest, for call: Call) async throws -> UpstreamResponse {
        var request = request
        let left = ContinuousClock.now.duration(to: call.deadline)
        request.deadline = min(request.deadline ?? left, left)
        return try await calls.send(request, as: call.caller)
    }
}

extension Identity {
    /// What an adapter calls the systems behind a portal with; nil for a provider that is none.
    public func callerUpstream(_ name: ProviderName) -> (any CallerUpstream)? {
        portalCalls(name).map { PortalUpstream(calls: $0) }
    }
}
