import ArgumentParser
import Foundation
import StandInService

/// A small service to put behind a gateway, for trying out mirrors and for tests.
///
/// Exit status: 0 done, 1 failed, 2 wrong usage.
@main
struct StandInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portico-stand-in",
        abstract: "A company's systems in small, to put behind a gateway.",
        discussion: """
            Without a command it serves. In another terminal, `fault` and `change` give orders to the one that serves.
            Everything is kept in memory and made from a seed: two of one seed have the same rows.

            It answers the mobile contract's employee search (POST /OrganizationInterfaceImplMobile/employeeSearch, and \
            over SOAP POST /sca/OrganizationInterfaceExport, its WSDL at ?wsdl), \
            employees over REST (/employees: offset and limit, cursor, changedSince, ETag, Idempotency-Key), users in \
            XML (/v1/list, /v2/list, /v2/user/{id}), a property list (/plists/sonnets), the Twaddle chat (POST /chat, \
            room r1), an SAP Gateway with OData 2.0 (/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/) behind its portal (/irj/portal), \
            an OData 4.0 service with the same rows (/odata/v4/admissions/), and what was written to it (/ledger).

            Exit status: 0 done, 1 failed, 2 wrong usage.
            """,
        subcommands: [Serve.self, FaultCommand.self, ChangeCommand.self, EndSessionsCommand.self, StatusCommand.self],
        defaultSubcommand: Serve.self)

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            FileHandle.standardError.write(Data("portico-stand-in: \(failure.message)\n".utf8))
            Foundation.exit(1)
        } catch {
            // ArgumentParser ends with 64 for wrong usage; scripts expect 2.
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            FileHandle.standardError.write(Data((fullMessage(for: error) + "\n").utf8))
            Foundation.exit(2)
        }
    }
}

struct CommandFailure: Error {
    let message: String
}

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serves until it is stopped; prints `listening on http://…` when it does.")

    @Option(help: "The address to listen at. Others than loopback have no protection: never in public networks.")
    var host = "127.0.0.1"
    @Option(help: "The port; 0 takes a free one.") var port = 9090
    @Option(help: "How many employees there are, up to a million.") var employees = 500
    @Option(help: "How many users there are, up to 100,000.") var users = 200
    @Option(help: "How many verses the property list has, up to 5,000.") var verses = 154
    @Option(help: "How many students the admissions services have, up to 200,000.") var students = 1_000
    @Option(help: "How many entities one page of OData has, up to 10,000.") var odataPage = 1_000
    @Flag(help: "SAP's paths need the portal's cookie: any j_user with the password portico-demo gets it.")
    var portal = false
    @Option(help: "What the rows and the drawn faults are made from.") var seed: UInt64 = 1
    @Flag(help: "Writes are applied again when their idempotency key comes again, and messages get ids of its own.")
    var ignoreIdempotencyKeys = false

    func validate() throws {
        if let problem = settings.problem { throw ValidationError(problem) }
    }

    private var settings: StandInSettings {
        // A run's change tokens mean nothing to another one.
        var settings = StandInSettings(run: String(UInt64.random(in: 0 ... .max), radix: 36))
        settings.host = host
        settings.port = port
        settings.employees = employees
        settings.users = users
        settings.verses = verses
        settings.students = students
        settings.odataPageSize = odataPage
        settings.requiresSignIn = portal
        settings.seed = seed
        settings.honoursKeys = !ignoreIdempotencyKeys
        return settings
    }

    func run() async throws {
        let server: StandInServer
        do { server = try await StandInServer(settings) } catch {
            throw CommandFailure(message: "It cannot listen at \(host), port \(port): \(error)")
        }
        let shown = host.contains(":") ? "[\(host)]" : host
        FileHandle.standardOutput.write(Data("listening on http://\(shown):\(server.port)\n".utf8))
        try await server.run()
    }
}
