import ArgumentParser

@main
struct Portico: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "portico",
        abstract: "One backend for mobile apps: adapters behind one gateway, over one store, in every wire format.",
        version: version,
        subcommands: [Serve.self, Check.self, Convert.self, Reference.self, SelfSignedCertificate.self])
}
