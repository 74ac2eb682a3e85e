import AdapterKit

/// Runs the requests of one change set up to their writes, then writes, then lets them end. Requests that read come
/// last, so that they see what was written.
struct ChangeSetRun: Sendable {
    typealias Perform = @Sendable (BatchCall, String, any RecordStore) async -> MountResponse

    let records: any RecordStore
    let perform: Perform
    /// The address of what a request creates, of the entity of the set that it addresses.
    let address: @Sendable (String, ChangeSetBarrier, Int) async -> String?
    /// A failure of the set's own, in the version's shape.
    let failure: @Sendable (any Error) -> MountResponse

    /// The replies, and which request failed first; nil where all went well.
    func replies(
        _ calls: [BatchCall], group: String?, _ addresses: inout BatchAddresses
    ) async -> (replies: [BatchReply], failed: Int?) {
        let stage = ChangeSetBarrier()
        let ended = EndedCalls()
        return await withTaskGroup(of: Void.self) { tasks in
            var refused: [Int: PorticoError] = [:]
            var ids: Set<String> = []
            for (index, call) in calls.enumerated() where call.method != "GET" {
                if let id = call.id, !ids.insert(id).inserted {
                    refused[index] = PorticoError(.requestInvalid, "The Content-ID \(id) is there twice.")
                    break
                }
                let before = await stage.count
                let target: String
                do throws(PorticoError) { target = try addresses.relative(call.url) } catch {
                    refused[index] = error
                    break
                }
                let resolved = call.with(body: addresses.resolved(call.body))
                tasks.addTask {
                    let answer = await perform(resolved, target, StagedRecords(base: records, stage: stage))
                    await ended.add(index, answer)
                    await stage.arrive()
                }
                await stage.waitForArrival()
                if await ended.hasFailed { break }
                addresses.remember(call.id, await address(target, stage, before))
            }
            let isHopeless = await ended.hasFailed || !refused.isEmpty
            if isHopeless { await stage.abandon() } else { await stage.commit(to: records) }
            await tasks.waitForAll()
            if !isHopeless { await read(calls, addresses, ended) }
            return await outcome(calls, group, refused, ended)
        }
    }

    private func read(_ calls: [BatchCall], _ addresses: BatchAddresses, _ ended: EndedCalls) async {
        for (index, call) in calls.enumerated() where call.method == "GET" {
            do throws(PorticoError) {
                await ended.add(index, await perform(call, try addresses.relative(call.url), records))
            } catch {
                await ended.add(index, failure(error))
            }
        }
    }

    private func outcome(
        _ calls: [BatchCall], _ group: String?, _ refused: [Int: PorticoError], _ ended: EndedCalls
    ) async -> (replies: [BatchReply], failed: Int?) {
        // What could not be begun is why the others were given up.
        var failed = refused.keys.min()
        if failed == nil { failed = await ended.firstFailure }
        var replies: [BatchReply] = []
        for (index, call) in calls.enumerated() {
            var answer = await ended.answers[index]
            if let error = refused[index] {
                answer = failure(error)
            }
            replies.append(BatchReply(id: call.id, group: group, answer: answer ?? BatchFailure.dependency))
        }
        guard let failed else { return (replies, nil) }
        return (
            replies.enumerated().map { index, reply in
                index == failed
                    ? reply : BatchReply(id: reply.id, group: group, answer: BatchFailure.dependency)
            }, failed
        )
    }
}

/// Which requests of a change set have ended, and how.
private actor EndedCalls {
    private(set) var answers: [Int: MountResponse] = [:]
    /// The first that failed, in the order of time: those that fail later do so because of it.
    private(set) var firstFailure: Int?

    var hasFailed: Bool { firstFailure != nil }

    func add(_ index: Int, _ answer: MountResponse) {
        answers[index] = answer
        if answer.status >= 400, firstFailure == nil { firstFailure = index }
    }
}

extension BatchCall {
    func with(body: [UInt8]) -> BatchCall {
        BatchCall(id: id, method: method, url: url, headers: headers, body: body, needs: needs)
    }
}
