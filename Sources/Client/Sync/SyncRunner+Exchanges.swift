import SyncDevice
import SyncMessages

/// What goes over the network, each exchange in a task that this runner owns and cancels.
extension SyncRunner {
    func carryOut(_ action: DeviceAction) {
        switch action {
        case .persist, .stage: break
        case .pull(let number, let request): start(number) { await $0.pull(number, request, of: $1) }
        case .push(let number, let request): start(number) { await $0.push(number, request, of: $1) }
        case .wake(let pause): setAlarm(after: pause)
        case .report(let report): take(report)
        }
    }

    private func take(_ report: DeviceReport) {
        switch report {
        case .pulled: (progress.received, progress.lastError) = (nil, nil)
        case .pushRefused(let code):
            progress.lastError = .refused(Refusal(status: 400, code: code, message: "A push was refused."))
        case .scopesDisagree(let scopes):
            progress.lastError = .unreadableAnswer("checksums disagree: \(scopes.joined(separator: ", "))")
        case .settled, .signInNeeded: break
        }
    }

    private func start(_ number: RequestNumber, _ work: @escaping @Sendable (SyncRunner, Int) async -> Void) {
        let generation = generation
        guard isRunning else {
            // Answered as if there were no network: the machine waits until it is woken.
            exchanges[number] = Task { self.passOver(number, generation) }
            return
        }
        exchanges[number] = Task { await work(self, generation) }
    }

    private func passOver(_ number: RequestNumber, _ generation: Int) {
        guard generation == self.generation else { return }
        exchanges[number] = nil
        _ = try? pulled(number, .unavailable)
        _ = try? pushed(number, .unavailable)
    }

    private func pull(_ number: RequestNumber, _ request: PullRequest, of generation: Int) async {
        let (reply, error) = await server.pull(request)
        guard generation == self.generation else { return }
        exchanges[number] = nil
        progress.lastError = Task.isCancelled ? nil : error
        if case .page(let page) = reply { progress.received = (progress.received ?? 0) + page.operations.count }
        _ = try? pulled(number, reply)
    }

    private func push(_ number: RequestNumber, _ request: PushRequest, of generation: Int) async {
        var result = SyncServer.PushResult.reply(.unavailable, nil)
        do {
            // A record may name them.
            try await attachments.upload()
            result = await server.push(request)
        } catch {
            let error = ClientError(meaning: error)
            result = .reply(error.endsSignIn ? .unauthorized : .unavailable, error)
        }
        guard generation == self.generation else { return }
        exchanges[number] = nil
        answered(number, result)
    }

    private func answered(_ number: RequestNumber, _ result: SyncServer.PushResult) {
        switch result {
        case .reply(let reply, let error):
            progress.lastError = Task.isCancelled ? nil : error
            _ = try? pushed(number, reply)
        case .clientIsForeign(let error):
            progress.lastError = error
            // Once: a second refusal has another reason.
            guard !hasNewClientID, (try? replaceClientID()) != nil else {
                _ = try? pushed(number, .unavailable)
                return
            }
            publish()
        }
    }

    /// One alarm at a time, the earliest: whatever waits is tried again when it rings.
    func setAlarm(after pause: Duration) {
        isResting = true
        guard alarm == nil, isRunning, !isBounded else { return }
        alarm = Task { [clock] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            self.ring()
        }
    }

    private func ring() {
        alarm = nil
        isResting = false
        quietly { $0.wake() }
    }
}
