import AdapterKit
import MirrorEngine
import Telemetry
import WireFormats

/// Answers an operation that another system answers (``CallThrough``): one call for all who ask the same at once.
struct CallThroughDispatcher: Sendable {
    let services: GatewayServices
    let served: ServedAdapter
    let operation: Operation

    /// What the operation answers, and how old that is. Throws as ``CallThroughCalls/answer(input:owner:deadline:perform:)``
    /// does, and `auth.required` where the other system is called in the caller's name and there is none.
    func perform(
        _ callThrough: AdapterCallThrough, input: WireDictionary, request: AuthenticatedRequest
    ) async throws -> CallThroughCalls.Answer {
        try served.status.requireRunning()
        try operation.input.check(input)
        let owner = try await owner(callThrough, request)
        let caller = owner == nil ? .anonymous : request.caller.principal
        let whole = request.request.deadline
        let (key, deadline) = (try key(input), operation.deadline.map { min(.now + $0, whole) } ?? whole)
        // The call is made by a task of its own, for all who ask: the one whose request began it has its spans.
        let captured = CapturedRequest()
        let perform = { @Sendable () async throws -> OperationResult in
            let call = Call(
                operation: operation.name, input: input, caller: caller, requestID: request.request.id,
                deadline: .now + CallThroughCalls.longestCall,
                records: try served.records(
                    in: services.store,
                    for: owner == nil
                        ? AuthenticatedRequest(
                            request: request.request, caller: .anonymous, parameters: request.parameters) : request,
                    naming: services.rights),
                log: served.log)
            return try await captured.run { try await served.adapter.handle(call) }
        }
        let answer = try await RequestTimeline.measure(.adapter, "\(served.declaration.name).\(operation.name)") {
            try await callThrough.calls.answer(input: key, owner: owner, deadline: deadline, perform: perform)
        }
        // It may have ended meanwhile, or its watch with the last answer that was kept.
        _ = try await self.owner(callThrough, request)
        return answer
    }

    /// The sign-in whose answer it is; nil where it is the same for all callers.
    private func owner(_ callThrough: AdapterCallThrough, _ request: AuthenticatedRequest) async throws -> String? {
        guard let owners = callThrough.owners else { return nil }
        guard let authentication = request.caller.authentication, let credentials = services.credentials else {
            throw PorticoError(.loginRequired, "This needs a login.")
        }
        return try await owners.owner(authentication, watchedBy: credentials)
    }

    /// Equal for equal inputs: the members in their declared order, whatever the caller's was.
    private func key(_ input: WireDictionary) throws -> [UInt8] {
        let declared = operation.input.members.map { input[$0.name.text] ?? .null }
        let others = input.filter { operation.input.member($0.key) == nil }.flatMap { [.string($0.key), $0.value] }
        return try CBORFormat().write(.array(declared + others))
    }
}
