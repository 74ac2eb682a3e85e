import AdapterKit
import IPAddresses
import Synchronization
import Testing
import Upstream
import UpstreamStandIn

/// Names that mean what a test says, and how often they were asked for.
final class ScriptedNames: NameResolver {
    private let script: Mutex<[[IPAddress]]>
    private let asked = Mutex(0)

    /// One list of addresses for each time that a name is asked for; the last one stays.
    init(_ answers: [[String]]) {
        script = Mutex(answers.map { $0.compactMap { IPAddress($0) } })
    }

    var count: Int { asked.withLock { $0 } }

    func addresses(of host: String) async throws(CancellationError) -> [IPAddress] {
        asked.withLock { $0 += 1 }
        return script.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? [] }
    }
}

/// A name server that never answers.
struct SilentNames: NameResolver {
    func addresses(of host: String) async throws(CancellationError) -> [IPAddress] {
        do { try await Task.sleep(for: .seconds(3600)) } catch { throw CancellationError() }
        return []
    }
}

/// Asks, and stops the client afterwards.
func ask(
    _ settings: UpstreamSettings, _ request: UpstreamRequest, names: any NameResolver = ScriptedNames([["127.0.0.1"]]),
    log: Log = .discarding
) async -> Result<UpstreamResponse, UpstreamFailure> {
    let upstream = HTTPUpstream(settings, resolver: names, log: log)
    let result: Result<UpstreamResponse, UpstreamFailure>
    do throws(UpstreamFailure) {
        result = .success(try await upstream.send(request))
    } catch {
        result = .failure(error)
    }
    await upstream.stop()
    return result
}

extension Result where Success == UpstreamResponse, Failure == UpstreamFailure {
    var kind: UpstreamFailure.Kind? { if case .failure(let failure) = self { failure.kind } else { nil } }
    var response: UpstreamResponse? { try? get() }
    var text: String? { response.map { String(decoding: $0.body, as: UTF8.self) } }
}

func address(_ text: String) throws -> UpstreamAddress {
    try #require(UpstreamAddress(text))
}
