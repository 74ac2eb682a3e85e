import AdapterKit
import SyncDevice
import SyncMessages
import WireFormats

extension Simulation {
    /// As the gateway writes: a null in a format without one is a member left out.
    static let omittingNulls = WritingOptions(nulls: .omitMember)

    /// What the server answers, in the device's format. Throws ``Violation`` where the answer breaks a promise.
    mutating func answer(_ delivery: Delivery, deathAfter: Int?) async throws -> Reply {
        let device = devices[delivery.device]
        if device.isSignedOut { return reply(.unauthorized) }
        do {
            let value = try device.format.read(delivery.body)
            switch delivery.door {
            case .pull:
                let page = try await page(try PullRequest(from: value), device.person, device.clientID)
                try check(page, of: device.person, device.clientID)
                return reply(.done, try device.format.write(page.wireValue, options: Self.omittingNulls))
            case .push:
                let request = try PushRequest(from: value)
                let answer = try await server.push(request, for: device.person, deathAfter: deathAfter)
                try check(answer, of: device)
                return reply(.done, try device.format.write(answer.wireValue, options: Self.omittingNulls))
            }
        } catch is FaultInjectingTransaction.Death {
            try restart()
            return reply(.unavailable)
        } catch let error as PorticoError {
            trace.add("server: \(error)")
            collected.count("\(delivery.door) \(error.code.rawValue)")
            return reply(error.code == .fetchAgain ? .fetchAgain : .refused)
        }
    }

    /// A device is told to start over where it must, and nowhere else.
    func page(_ request: PullRequest, _ person: String, _ name: String) async throws -> PullPage {
        let known = request.checkpoint.flatMap { checkpoints[$0] }
        let isKnown = known.map { $0.epoch == server.ledger.epoch && $0.position >= server.floor }
        do {
            let page = try await server.pull(request, for: person)
            guard isKnown != false || plan.sabotage == .tombstoneWindow else {
                throw Violation(6, "\(name) is served from where the log does not reach")
            }
            return page
        } catch let error as PorticoError where error.code == .fetchAgain && isKnown == true {
            throw Violation(6, "\(name) is told to start over for nothing")
        }
    }

    private func reply(_ status: Reply.Status, _ body: [UInt8] = []) -> Reply {
        Reply(status: status, body: body, epoch: server.ledger.epoch)
    }

    /// Nothing outside the scope is sent, and nothing but what is there. The rows of the moment belong to the token.
    mutating func check(_ page: PullPage, of person: String, _ who: String) throws {
        let oracle = server.oracle
        for operation in page.operations {
            guard case .put(let fields) = operation.kind else { continue }
            let key = RecordKey(operation.collection, operation.id)
            guard let row = server.ledger.rows[key], oracle.sees(person, key, row.fields) else {
                throw Violation(5, "\(who) of \(person) is sent \(key.id)")
            }
            guard row.rev == operation.rev, fields.tree.hasSameFields(as: row.fields) else {
                throw Violation(1, "\(who) is sent another \(key.id) than there is")
            }
        }
        let rows = oracle.visible(to: person)
        switch page.ending {
        case .next(let token):
            // The end of an earlier pull may have been at the same place.
            let name = "\(person) \(token)"
            rowsOfTokens[name] = rowsOfTokens[name] ?? rows
        case .complete(let completion):
            rowsOfTokens["\(person) \(completion.checkpoint)"] = rows
            checkpoints[completion.checkpoint] = (server.ledger.epoch, completion.position)
        }
        trace.add("\(who) is sent \(page.summary)")
    }

    /// A repetition gets the same outcome.
    private mutating func check(_ answer: PushResponse, of device: SimulatedDevice) throws {
        for outcome in answer.outcomes where outcome.verdict != .retry {
            let name = "\(device.clientID) \(outcome.sequence)"
            if outcome.isForgotten, !answeredSequences.contains(name) {
                throw Violation(9, "\(name) is taken for answered, but never was")
            }
            answeredSequences.insert(name)
            guard let told = toldOutcomes[name] else {
                toldOutcomes[name] = outcome
                continue
            }
            let isSame = told.verdict == outcome.verdict && told.rev == outcome.rev
            guard isSame || outcome.isForgotten else {
                throw Violation(
                    2,
                    "\(name) was answered \(told.verdict) \(told.rev ?? 0), then \(outcome.verdict) \(outcome.rev ?? 0)"
                )
            }
        }
    }
}

extension MutationOutcome {
    /// So late that the compaction has removed the outcome: the repetition has no effect, and says so.
    var isForgotten: Bool { verdict == .rejected && reason == ErrorCode.requestInvalid.rawValue }
}

extension WireDictionary {
    /// Fields without a value count as those that are not there.
    func hasSameFields(as other: WireDictionary) -> Bool {
        Set(keys).union(other.keys).allSatisfy { (self[$0] ?? .null) == (other[$0] ?? .null) }
    }
}

extension PullPage {
    fileprivate var summary: String {
        let told = operations.map { operation in
            if case .put = operation.kind {
                "\(operation.id)@\(operation.rev)"
            } else {
                "-\(operation.id)@\(operation.rev)"
            }
        }
        let end = if case .complete(let completion) = ending { "complete at \(completion.position)" } else { "next" }
        return "\(reset.isEmpty ? "" : "reset \(reset) ")\(told) \(end)"
    }
}
