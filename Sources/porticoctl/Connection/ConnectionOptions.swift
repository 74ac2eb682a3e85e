import ArgumentParser

/// Where the gateway is, and how results are shown.
struct ConnectionOptions: ParsableArguments {
    @Option(name: .customLong("data"), help: "The gateway's data directory; its admin socket is used.")
    var data: String = ".portico"

    @Option(help: "text for people, json for programs.")
    var output: OutputStyle = .text

    /// Runs `body` with a connection that is closed afterwards.
    func withConnection<Result>(_ body: (Connection) async throws -> Result) async throws -> Result {
        let connection = Connection(data: data)
        do {
            let result = try await body(connection)
            try await connection.close()
            return result
        } catch {
            try? await connection.close()
            throw error
        }
    }
}

enum OutputStyle: String, ExpressibleByArgument, CaseIterable {
    case text
    case json
}
