import AdapterKit
import ArgumentParser
import CommandLineSupport
import Foundation
import Upstream
import UpstreamRecording

/// `portico fetch`: one document through an upstream. No gateway needs to run: the system is called as the configuration says,
/// with its credentials.
struct FetchDocument<Program: HostProgram>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "fetch", abstract: "Writes a document of another system to standard output.",
            discussion:
                "The adapters of the configuration are not looked at: the document may be what one of them needs.")
    }

    @OptionGroup var options: ConfigurationOptions
    @Argument(help: "The address: at the upstream's server, or from its address on.") var address: String
    @Option(help: "The system's name below `upstreams`.") var upstream: String
    @Option(help: "The media types that are asked for.") var accept = "application/xml, */*;q=0.1"

    func run() async throws {
        let plan = try await options.planWithoutAdapters()
        guard let name = UpstreamName(upstream) else {
            throw HostCommandError("\(upstream) cannot be the name of an upstream.")
        }
        let system = try plan.upstream(name)
        let result: Result<[UInt8], any Error>
        do { result = .success(try await document(of: system.called)) } catch { result = .failure(error) }
        await system.transport.stop()
        switch result {
        case .success(let bytes): FileHandle.standardOutput.write(Data(bytes))
        case .failure(let failure as UpstreamFailure):
            throw HostCommandError("\(address) cannot be read: \(failure.kind.rawValue): \(failure.detail)")
        case .failure(let error): throw error
        }
    }

    private func document(of system: any Upstream) async throws -> [UInt8] {
        guard let place = system.url.resolving(address), place.origin == system.url.origin else {
            throw HostCommandError(
                "\(address) is no address at the server of the upstream \(system.name), \(system.url.origin).")
        }
        let response = try await system.send(UpstreamRequest(.get, place, fields: ["Accept": accept]))
        guard response.status == 200 else { throw HostCommandError("\(place.logged) answered \(response.status).") }
        return response.body
    }
}

extension HostPlan {
    /// A system as the gateway calls it in its own name. Throws ``HostCommandError`` where there is none, or it is called in its
    /// callers' names.
    func upstream(_ name: UpstreamName) throws -> (transport: HTTPUpstream, called: any Upstream) {
        guard let planned = settings.upstreams[name] else {
            throw HostCommandError("There is no upstream \(name).\(settings.upstreams.hint(for: name.text))")
        }
        guard case .own(let credentials) = planned.credentials, !planned.actsForCallers else {
            throw HostCommandError("The upstream \(name) is called in its callers' names, and here is none.")
        }
        let log = Log { _ in }
        let transport = HTTPUpstream(planned.settings, log: log)
        let authorized = AuthorizedUpstream(transport, credentials, clock: SystemClock()) { _ in
            throw HostCommandError("The upstream \(name) is called in its callers' names, and here is none.")
        }
        guard planned.isRehearsed else { return (transport, authorized) }
        return (transport, RecordReplayUpstream(authorized, planned.source, planned.chaos, log: log))
    }
}
