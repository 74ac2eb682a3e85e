import Client
import Foundation

/// Two devices of one person at one gateway, each with a switch for its network.
final class Stage: Sendable {
    let phone: Performer
    let tablet: Performer
    private let folder: URL

    struct Performer: Sendable {
        let name: String
        let portico: Portico
        let replica: Replica
        let network: NetworkSwitch
    }

    init(_ options: Options) async throws {
        guard let server = ServerAddress(options.server) else { throw Usage("\(options.server) is not an address") }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("portico-demo-\(UUID().uuidString)")
        let folder = folder
        func enter(_ name: String) async throws -> Performer {
            let network = NetworkSwitch()
            let settings = PorticoSettings(
                transport: network,
                replica: ReplicaSettings(collections: ["notes"], indexes: ["notes": ["title"]]))
            let portico = try await Portico.open(server, in: folder.appendingPathComponent(name), settings: settings)
            try await portico.signIn(name: options.user, password: options.password)
            return Performer(name: name, portico: portico, replica: try await portico.replica(), network: network)
        }
        phone = try await enter("phone")
        tablet = try await enter("tablet")
    }

    func close() async {
        await phone.portico.close()
        await tablet.portico.close()
        try? FileManager.default.removeItem(at: folder)
    }
}
