import SyncDevice

/// When the runner may use the network.
extension SyncRunner {
    /// From now on everything happens by itself.
    func start(isLive: Bool) {
        guard !isRunning || isBounded, !isClosed else { return }
        (isRunning, isBounded) = (true, false)
        retry()
        if isLive { startLive() }
    }

    /// From now on nothing is sent. Edits are taken all the same.
    func pause() {
        (isRunning, isBounded) = (false, false)
        live?.cancel()
        live = nil
        cancelExchanges()
        publish()
    }

    /// Tries now what would be tried later.
    func retry() {
        alarm?.cancel()
        alarm = nil
        isResting = false
        quietly { $0.wake() }
        quietly { $0.sync() }
    }

    func signedIn() {
        quietly { $0.signedIn() }
        guard live != nil else { return }
        live?.cancel()
        startLive()
    }

    func close() {
        pause()
        isClosed = true
        publish()
        status.finish()
        checkpoint.finish()
        signals.close()
    }

    /// Runs until there is nothing more to do, the last try got no answer, or the time is over.
    func run(within time: Duration) async -> SyncStatus {
        let wasRunning = isRunning
        // What fails is not tried again in the time that there is: whoever asks decides.
        isBounded = !wasRunning
        isRunning = true
        retry()
        _ = try? await withDeadline(time, clock: clock) { [status] in
            for await present in status.follow() where present.phase != .working { return }
        }
        if isBounded { pause() }
        return status.value
    }
}

/// Asks for news all the time, one question after another, and pulls when there are some.
extension SyncRunner {
    private func startLive() {
        live = Task { await self.listen() }
    }

    private func listen() async {
        var failures = 0
        while !Task.isCancelled, isRunning {
            guard let known = checkpoint.value else {
                await waitForAnother(than: nil, atMost: .seconds(60))
                continue
            }
            do {
                let hasNews = try await server.hasNews(after: known, collections: collections)
                failures = 0
                guard hasNews, !Task.isCancelled else { continue }
                quietly { $0.sync() }
                await waitForAnother(than: known, atMost: .seconds(30))
            } catch {
                // Pulls say what is wrong; this only asks again, later and later.
                failures += 1
                _ = try? await clock.sleep(for: min(.seconds(300), .seconds(1 << min(failures, 9))))
            }
        }
    }

    private func waitForAnother(than known: String?, atMost time: Duration) async {
        _ = try? await withDeadline(time, clock: clock) { [checkpoint] in
            for await present in checkpoint.follow() where present != known { return }
        }
    }
}
