import AdapterKit
import HTTPTypes
import Identity
import RecordStorage
import SyncEngine
import SyncMessages
import ValueTree

/// Where devices sync.
struct SyncRoutes: Sendable {
    let sync: SyncServices
    let services: GatewayServices
    let identity: Identity

    func routes() -> [Route] {
        let watch = CredentialWatch(identity: identity, clock: services.clock)
        let instruments = SyncInstruments(services.metrics.factory)
        return [
            Route(.post, "/sync/v1/pull", PullEndpoint(sync: sync, services: services, instruments: instruments)),
            Route(.post, "/sync/v1/push", PushEndpoint(sync: sync, services: services, instruments: instruments)),
            Route(.get, "/sync/v1/live", SyncLiveEndpoint(sync: sync, services: services, credentials: watch)),
            Route(.get, "/sync/v1/attachments/{sha256}", AttachmentReadEndpoint(sync: sync, services: services)),
            Route(.put, "/sync/v1/attachments/{sha256}", AttachmentWriteEndpoint(sync: sync, services: services)),
        ]
    }
}

/// `POST /sync/v1/pull`: what a device lacks. Reads, though it is a POST: the checkpoint is no query for an address.
struct PullEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices
    let instruments: SyncInstruments

    let properties = EndpointProperties(name: "sync.pull", access: .login, effect: .reads)
    let description = EndpointDescription(
        summary: "What a device lacks, page by page.", tag: "Sync", body: SyncShapes.pull, needsBody: false,
        answers: [(.ok, .value(.object(SyncShapes.page)))], errors: [.fetchAgain, .storeUnavailable])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let body = try await services.bodies.message(request, as: SyncShapes.pull)
        let asked = try readMessage { () throws(SyncMessageError) in try PullRequest(from: body.value) }
        let pulls = sync.pulls
        let caller = request.caller.syncing
        let page: PullPage
        do {
            let pull = try pulls.prepared(asked, for: caller)
            page = try await services.store.withReadSnapshot(expecting: pulls.reads(of: pull)) {
                try pulls.page(pull, at: $0)
            }
        } catch {
            instruments.noteFailedPull()
            throw error
        }
        instruments.notePull(
            operations: page.operations.count, isComplete: page.isComplete, isReset: !page.reset.isEmpty)
        sync.seen.notePull(page, for: asked, of: caller.principal)
        await sync.refreshMirrors(asked.collections, for: request.caller, watchedBy: services.credentials)
        return try services.encoder.write(
            page.wireValue, to: request.request, presentation: Presentation(), validators: nil)
    }
}

/// `POST /sync/v1/push`: a device's changes, each made once.
struct PushEndpoint: Endpoint {
    let sync: SyncServices
    let services: GatewayServices
    let instruments: SyncInstruments

    let properties = EndpointProperties(name: "sync.push", access: .login, effect: .writes)
    let description = EndpointDescription(
        summary: "Makes a device's changes, each once.", tag: "Sync", body: SyncShapes.push,
        answers: [(.ok, .value(.object(SyncShapes.outcomes)))],
        errors: [.csrfRequired, .requestLimitExceeded, .storeUnavailable, .storeFull])

    func respond(to request: AuthenticatedRequest) async throws -> GatewayResponse {
        let caller = request.caller.syncing
        let (push, dates) = try await message(request)
        var plan = try sync.pushes.plan(push, for: caller)
        if let dates { plan.restored = { dates.restored($0, from: $1) } }
        let named = sync.pushes.attachments(namedBy: plan)
        plan.deniedAttachments = try await sync.rights.denied(among: named, for: caller)
        let answer: PushResponse
        let began: Revision
        do {
            (answer, began) = try await perform(plan, for: caller)
        } catch {
            instruments.noteFailedPush()
            throw error
        }
        await services.changes?.recordMutations(
            push.mutations, answer.outcomes, after: began, in: sync.catalogue, by: request)
        instruments.notePush(answer.outcomes.lazy.map(\.verdict.rawValue))
        sync.seen.see(push.clientID, of: caller.principal) { device in
            for outcome in answer.outcomes { device.outcomes[outcome.verdict, default: 0] += 1 }
        }
        return try services.encoder.write(
            answer.wireValue, to: request.request, presentation: Presentation(), validators: nil, isDone: true)
    }

    private func message(_ request: AuthenticatedRequest) async throws -> (PushRequest, CoarseDates?) {
        let body = try await services.bodies.message(request, as: SyncShapes.push)
        var push = try readMessage { () throws(SyncMessageError) in try PushRequest(from: body.value) }
        guard push.mutations.count <= sync.settings.mutations else {
            throw PorticoError(
                .requestLimitExceeded, "A push has at most \(sync.settings.mutations) mutations.", target: "mutations")
        }
        for index in push.mutations.indices {
            guard let entity = sync.catalogue[push.mutations[index].collection]?.entity else { continue }
            push.mutations[index].fields = push.mutations[index].fields.map {
                body.coercion.coerce($0, to: entity.patchShape)
            }
        }
        return (push, body.dates)
    }

    /// `began`: where the log was before the first transaction. What was made before is of an earlier push.
    private func perform(
        _ plan: PushPlan, for caller: SyncCaller
    ) async throws -> (answer: PushResponse, began: Revision) {
        let pushes = sync.pushes
        var run = PushExecution(plan)
        var span: (began: Revision, ended: Revision)?
        while let part = run.next {
            do {
                let (progress, began, ended) = try await RuleAnswers.settling { answers in
                    var part = part
                    part.answers = answers
                    return try await services.store.transact(
                        weight: max(1, part.mutations.count), expecting: pushes.reads(of: part)
                    ) { [part] in
                        let began = $0.position
                        return (try pushes.perform(part, in: $0), began, $0.position)
                    }
                }
                span = (span?.began ?? began, ended)
                run.made(progress)
            } catch {
                try run.failed(error)
            }
            if let conflict = run.pendingConflict { run.decided(await sync.resolvers.decide(conflict)) }
        }
        let reached = try await position(after: span)
        let answer = PushResponse(
            outcomes: run.outcomes, checkpoint: sync.pulls.mark(reached.ended, for: caller),
            position: reached.ended.number)
        return (answer, reached.began)
    }

    /// The log as it is now, where nothing of the push could be made: what the store knows without being asked may be
    /// older than what the caller has seen.
    private func position(
        after span: (began: Revision, ended: Revision)?
    ) async throws -> (began: Revision, ended: Revision) {
        if let span { return span }
        let now = try await services.store.withReadSnapshot { $0.position }
        return (now, now)
    }
}
