import AdapterKit
import RecordStorage
import SyncEngine
import ValueTree

/// Makes the call: deadline, the caller's view of the records, errors that are not meant for callers kept back.
struct CallDispatcher: Sendable {
    let store: any Store
    let rights: AttachmentRights?
    let deadlines: DeadlineScheduler

    func answer(
        _ operation: Operation, of served: ServedAdapter, input: WireDictionary, request: AuthenticatedRequest
    ) async throws -> OperationResult {
        try served.status.requireRunning()
        try operation.input.check(input)
        let call = call(operation, of: served, input: input, request: request)
        let adapter = served.adapter
        do {
            guard operation.deadline != nil else { return try await adapter.handle(call) }
            let late = PorticoError(
                .deadlineExceeded, "\(served.declaration.title) did not answer in time.", target: operation.name.text)
            return try await deadlines.run(until: call.deadline, late: late) { try await adapter.handle(call) }
        } catch let error as PorticoError {
            throw error
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw PorticoError(.serverInternal, "Something went wrong on the server.", logDetail: "\(error)")
        }
    }

    /// Without a deadline of its own an operation has the request's, which the front door keeps.
    private func call(
        _ operation: Operation, of served: ServedAdapter, input: WireDictionary, request: AuthenticatedRequest
    ) -> Call {
        let whole = request.request.deadline
        let own = operation.deadline.map { min(ContinuousClock.now + $0, whole) }
        return Call(
            operation: operation.name, input: input, caller: request.caller.principal, requestID: request.request.id,
            deadline: own ?? whole, records: served.records(in: store, for: request.caller, naming: rights),
            log: served.log)
    }
}

extension ObjectShape {
    /// Throws `request.invalid` naming the member at fault.
    func check(_ members: WireDictionary) throws(PorticoError) {
        try Shape.object(self).check(.dictionary(members), at: "")
    }
}
