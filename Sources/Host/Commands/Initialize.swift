import AdapterKit
import ArgumentParser
import AttachmentFiles
import CommandLineSupport
import Foundation
import HTTPServer
import HostConfiguration
import Identity
import RecordStorage

/// `portico init`: a configuration for production, and the first administrator in a store that is ready for it.
struct Initialize<Program: HostProgram>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "init", abstract: "Writes a configuration and makes the first administrator.",
            discussion: """
                At a terminal it asks for what no option gives. --yes asks nothing: the defaults are taken, and a password that no \
                file gives is made up and printed, this once. What is there already is not replaced. With --keep a configuration \
                that is there is used as it is, and only the administrator is made. Run as root, the store gets the owner of the \
                data directory.

                Examples:
                  \(Program.name) init
                  \(Program.name) init gateway --yes --adapters \(FirstConfiguration.list(Program.adapters))
                  \(Program.name) init /etc/portico --data /var/lib/portico --yes --admin ada --password-file ada.password
                  \(Program.name) init /etc/portico --data /var/lib/portico --keep
                """)
    }

    @Argument(help: "The folder for \(FirstConfiguration.fileName); left out: this one.")
    var folder: String?

    @Option(
        name: .customLong("data"),
        help: "The directory for the store; left out: \(FirstConfiguration.dataFolder) in that folder.")
    var data: String?

    @Option(help: "The address to listen at; left out: \(FirstConfiguration.usualHost).")
    var host: String?

    @Option(help: "The port, 0 for a free one; left out: \(FirstConfiguration.usualPort).")
    var port: Int?

    @Option(help: "The name of the first administrator; left out: \(FirstConfiguration.administrator).")
    var admin: String?

    @Option(help: "A file whose first line is the administrator's password.")
    var passwordFile: String?

    @Option(
        help:
            "The adapters to serve, with commas between them, or none; left out: \(FirstConfiguration.list(Program.adapters))."
    )
    var adapters: String?

    @Flag(help: "Uses a configuration that is there, as it is, and makes only the administrator.")
    var keep = false

    @Flag(help: "Asks nothing.")
    var yes = false

    func validate() throws {
        guard port.map({ (0...65_535).contains($0) }) ?? true else {
            throw ValidationError("A port is a number from 0 to 65535.")
        }
    }

    func run() async throws {
        guard yes || Terminal.isThere else {
            throw ValidationError("There is no terminal to ask at. --yes takes the defaults for what no option gives.")
        }
        let folder = URL(fileURLWithPath: try ask(self.folder, "Folder", "."), isDirectory: true)
        let file = folder.appending(path: FirstConfiguration.fileName).path
        let kept = try keptConfiguration(file)
        let text = try kept ?? configuration().text
        let name = try administrator()
        let data = data ?? folder.appending(path: FirstConfiguration.dataFolder).path
        let plan = try Self.plan(text, file: file, data: data)
        let password = try password()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let isNew = try await Self.add(name, password.secret, to: plan)
        if kept == nil { try Self.write(text, to: file) }
        report(
            file: file, data: data, plan, name, isKept: kept != nil, isNew: isNew,
            made: password.isMade ? password.secret : nil)
    }

    // MARK: Answers

    private func configuration() throws -> FirstConfiguration {
        var first = FirstConfiguration(Program.adapters)
        first.host = try ask(host, "Address to listen at", first.host)
        guard !first.host.isEmpty, first.host.allSatisfy({ $0.isLetter || $0.isNumber || "-.:".contains($0) }) else {
            throw HostCommandError("\(first.host) is no address, such as 127.0.0.1 or 0.0.0.0.")
        }
        first.port = port ?? first.port
        if port == nil, !yes {
            let text = try ask(nil, "Port", String(first.port))
            guard let port = Int(text), (0...65_535).contains(port) else {
                throw HostCommandError("A port is a number from 0 to 65535, not \(text).")
            }
            first.port = port
        }
        let known = first.known.map(\.text).joined(separator: ", ")
        first.adapters = try first.adapters(
            named: ask(adapters, "Adapters, of \(known), or none", FirstConfiguration.list(Program.adapters)))
        return first
    }

    private func administrator() throws -> AccountName {
        let text = try ask(admin, "Name of the first administrator", FirstConfiguration.administrator)
        guard let name = AccountName(text) else {
            throw HostCommandError("\(text) is no name for an account: it has letters, digits and . _ - between them.")
        }
        return name
    }

    /// The option, else what is typed, else the default.
    private func ask(_ option: String?, _ question: String, _ usual: String) throws -> String {
        if let option { return option }
        guard !yes else { return usual }
        guard let typed = Terminal.ask("\(question) [\(usual)]: ") else { throw HostCommandError("Nothing was done.") }
        let text = typed.trimmingCharacters(in: .whitespaces)
        return text.isEmpty ? usual : text
    }

    private func password() throws -> (secret: Secret, isMade: Bool) {
        if let passwordFile {
            let text: String
            do throws(HostCommandError) { text = try ConfigurationFile.text(passwordFile) } catch {
                throw HostCommandError("\(passwordFile): cannot be read: \(error).")
            }
            let line = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
            guard !line.isEmpty else { throw HostCommandError("\(passwordFile): the first line is empty.") }
            return (Secret(String(line)), false)
        }
        guard !yes else { return (MadePassword.next(), true) }
        do throws(PasswordPrompt.Refusal) { return (Secret(try PasswordPrompt.read(isNew: true)), false) } catch {
            throw HostCommandError(error.description)
        }
    }

    // MARK: What is made

    /// The text of a configuration that is there and stays; nil: there is none yet.
    private func keptConfiguration(_ file: String) throws(HostCommandError) -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        guard keep else {
            throw HostCommandError(
                "\(file): there is a configuration already. --keep uses it as it is; or name another folder, or move it away."
            )
        }
        let unused = [("host", host), ("port", port.map(String.init)), ("adapters", adapters)].filter { $0.1 != nil }
        guard unused.isEmpty else {
            let options = unused.map { "--\($0.0)" }.joined(separator: ", ")
            throw HostCommandError(
                "\(file) is there already and stays as it is: \(options) would have no effect. Edit the file.")
        }
        do throws(HostCommandError) { return try ConfigurationFile.text(file) } catch {
            throw HostCommandError("\(file): cannot be read: \(error).")
        }
    }

    /// As a start makes it of the file.
    private static func plan(_ text: String, file: String, data: String) throws -> HostPlan {
        do {
            return try HostPlan(
                YAMLDocument.read(text, file: file), environment: ProcessInfo.processInfo.environment,
                overrides: [], directory: URL(fileURLWithPath: file).deletingLastPathComponent().path, data: data,
                compiled: Program.adapters)
        } catch let errors as ConfigurationErrors {
            throw HostCommandError(errors.description)
        } catch let error as ConfigurationError {
            throw HostCommandError(error.description)
        }
    }

    /// Whether there was no account of this name. One that there is keeps its password and its roles.
    private static func add(_ name: AccountName, _ password: Secret, to plan: HostPlan) async throws -> Bool {
        try FileManager.default.createDirectory(
            at: plan.settings.dataDirectory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let directory: DirectoryOwner
        do {
            directory = try DirectoryOwner(of: plan.settings.dataDirectory.path)
            try directory.impersonate()
        } catch {
            throw HostCommandError(error.description)
        }
        defer { directory.endImpersonation() }
        do {
            let store = try HostStore(plan.settings, acceptsStore: false).store
            do {
                try await store.install(plan.collections)
                let identity = try await Identity(
                    store: store, configuration: plan.settings.identity, clock: SystemClock(), providers: [],
                    log: .discarding)
                let isNew = try await identity.administration.account(named: name) == nil
                if isNew {
                    try await identity.administration.addAccount(
                        NewAccount(name, roles: [FirstConfiguration.role], password: password), by: .system)
                }
                await store.close()
                return isNew
            } catch {
                await store.close()
                throw error
            }
        } catch let error as PorticoError {
            throw HostCommandError(error.message)
        }
    }

    /// Where another one came to be meanwhile, that one stays.
    private static func write(_ text: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw HostCommandError("\(path): cannot be written: \(FileFailure.systemReason).")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.synchronize()
            try file.close()
        } catch {
            throw HostCommandError(FileFailure.sentence(error) ?? "\(path): cannot be written.")
        }
    }

    private func report(
        file: String, data: String, _ plan: HostPlan, _ name: AccountName, isKept: Bool, isNew: Bool, made: Secret?
    ) {
        for warning in plan.warnings { FileHandle.standardError.write(Data("warning: \(warning)\n".utf8)) }
        do throws(HostCommandError) { try Listener.checkAddresses(plan.settings) } catch {
            FileHandle.standardError.write(Data("warning: \(error)\n".utf8))
        }
        print("The configuration is \(file)\(isKept ? ", as it was" : ""), the data directory \(data).")
        if !isNew {
            print("There is an account \(name) already. Its password and its roles stay.")
        } else if let made {
            print("The first administrator is \(name), with the password \(made.reveal()) (shown this once).")
        } else {
            print("The first administrator is \(name).")
        }
        print(
            """

            To serve:    \(Program.name) serve --config \(file) --data \(data)
            To look:     porticoctl status --data \(data)
            To go on:    docs/operating.md
            """)
    }
}

/// A password that is made up: letters and digits that are not mistaken for each other, 120 bits.
enum MadePassword {
    private static let letters = Array("abcdefghijkmnpqrstuvwxyz23456789")
    private static let length = 24

    static func next(from random: inout some RandomNumberGenerator) -> Secret {
        Secret(String((0..<length).map { _ in letters[Int.random(in: letters.indices, using: &random)] }))
    }

    static func next() -> Secret {
        var random = SystemRandomNumberGenerator()
        return next(from: &random)
    }
}
